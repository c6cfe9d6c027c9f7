"""Volunteers' machines that ask for work: Headgate's pull.

A free thread gets the channel with the most value per cost that no other works on: the value of a
look is that of `features.keep.recrawl.page_estimates`, as on the grid's board. Cost is the minutes
that a task takes, times what churn makes of them: a machine that leaves takes unfinished work with
it. A channel is not asked again within half of the mean time between its changes. A machine that
says it leaves gives its tasks back at once; if it vanishes, its leases lapse after a minute. There
are no queues, and the capacity need not be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.page_estimates import look_value, mean_freshness
from headgate.model.keeping import Staleness
from headgate_lab.worlds.volunteer_figures import Figures, Tally
from headgate_lab.worlds.volunteers import FIRST_INTERVALS, THREADS, Volunteers

__all__ = ["PulledTasks", "churned_cost", "most_valuable"]

_MEAN_STAY = 900.0
"""Minutes for which a machine goes on being here, about, when a task starts."""
_POLITE = 0.5
"""Of the mean time between changes."""
_NEVER = 4.0
"""Times the mean time between changes: since when a channel is taken for unseen at the start."""

_LISTED, _RENEWED_AFTER = 8, 10
"""An eighth of the channels is listed, for so many minutes."""

Ints = npt.NDArray[np.int64]
_NOBODY = -1


def churned_cost(minutes: FloatArray) -> FloatArray:
    """Minutes that a task of so many costs, where a machine leaves at any moment.

    >>> churned_cost(np.array([90.0])).round(2).tolist()
    [99.47]
    """
    return as_floats(minutes * np.exp(minutes / _MEAN_STAY))


def most_valuable(values: FloatArray, count: int) -> list[int]:
    """So many places with the largest values, the largest first, of equals the first; none whose
    value is 0.

    >>> most_valuable(np.array([1.0, 3.0, 0.0, 3.0]), 3)
    [1, 3, 0]
    """
    places = np.flatnonzero(values)
    worth = values[places]
    if count < len(places):
        best = worth >= np.partition(worth, len(places) - count)[len(places) - count]
        places, worth = places[best], worth[best]
    found: list[int] = places[np.argsort(-worth, kind="stable")][:count].tolist()
    return found


def _value_table(staleness: Staleness, minutes: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """What a look is worth after each half minute since the last one, one group after the other,
    and where each begins; 0 as long as a channel is not asked again."""
    longest = minutes + _RENEWED_AFTER + round(_NEVER * float(FIRST_INTERVALS.max()))
    halves = 2 * longest + 1
    since = np.arange(halves) / 2
    rows = [
        np.where(since >= _POLITE * interval, look_value(staleness, 1 / interval, since), 0.0)
        for interval in FIRST_INTERVALS.tolist()
    ]
    return as_floats(np.concatenate(rows)), np.arange(len(rows), dtype=np.int64) * halves


class _Best:
    """The most valuable channels at each minute, without looking at all of them every time.

    Values only rise until a channel is looked at. So those that could be among the best within some
    minutes are put on a list, and a choice from that list is right as long as all chosen are worth
    more than any other channel can be by then.
    """

    def __init__(self, channels: int) -> None:
        self._all: Ints = np.arange(channels)
        self._length = channels // _LISTED
        self._listed = np.ones(channels, bool)
        self._list = self._all
        self._others_worth, self._until = 0.0, -1
        """The most that any other one is worth before that minute."""

    def of(self, count: int, now: int, values: Callable[[Ints, int], FloatArray]) -> Sequence[int]:
        if now < self._until:
            worth = values(self._list, now)
            places = most_valuable(worth, count)
            least = worth[places[-1]] if len(places) == count else 0.0
            if least > self._others_worth or self._others_worth == 0:
                found: list[int] = self._list[places].tolist()
                return found
        self._renew(values(self._all, now + _RENEWED_AFTER), now)
        return most_valuable(values(self._all, now), count)

    def add(self, channels: Ints) -> None:
        """These channels are free again."""
        new = channels[~self._listed[channels]]
        if len(new):
            self._listed[new] = True
            self._list = np.append(self._list, new)

    def _renew(self, most: FloatArray, now: int) -> None:
        best = most_valuable(most, self._length + 1)
        self._others_worth = float(most[best[-1]]) if len(best) > self._length else 0.0
        self._list = np.sort(np.array(best[: self._length], dtype=np.int64))
        self._listed[:] = False
        self._listed[self._list] = True
        self._until = now + _RENEWED_AFTER


class PulledTasks:
    """Of one run."""

    def __init__(
        self,
        world: Volunteers,
        minutes: int,
        seed: int,
        staleness: Staleness,
        *,
        weighted: bool = True,
    ) -> None:
        """``weighted``: channels are as important as they change often, as in the paper."""
        self._world, self._minutes, self._staleness = world, minutes, staleness
        channels, machines = len(world.group), len(world.bandwidth)
        rates = world.rates
        self._per_kilobit = world.per_kilobit
        importance = rates * FIRST_INTERVALS.max() if weighted else np.ones(channels)
        took = world.expected_minutes()
        arriving = mean_freshness(rates, took) if staleness is Staleness.FRESHNESS else 1.0
        self._worth = as_floats(importance * arriving / churned_cost(took))
        self._worth_now = self._worth.copy()
        """0 for what somebody is at."""
        self._table, first = _value_table(staleness, minutes)
        # Nothing is known of any channel: each was last looked at so long ago.
        longest = _NEVER * FIRST_INTERVALS[world.group]
        self._first = first[world.group]
        self._place = self._first + np.rint(2 * longest).astype(np.int64)
        """In the table at minute 0, by when each was last looked at."""
        self._best = _Best(channels)
        self._holder = np.full(channels, _NOBODY)
        """The machine that is at each channel."""
        self._begun, self._ends = np.zeros(channels, np.int64), np.full(channels, _NOBODY)
        """Minutes of its task."""
        self._order = np.random.default_rng((seed, 3)).permutation(machines)
        """In which machines ask, within a minute."""
        self._free = np.full(machines, THREADS)
        """Threads of each machine; none of one that is away."""
        self._away: set[int] = set()
        self._lapsing: list[int] = []
        self._submitted, self._updated = np.zeros((2, channels), np.int64)
        self._tally = Tally(world, minutes, self._submitted, self._updated)

    def run(self) -> Figures:
        for now in range(self._minutes):
            self._free_again(self._lapsing)
            self._lapsing = []
            for machine, tells in self._world.turns[now]:
                self._turn(machine, tells=tells)
            self._end(now)
            self._give(now)
            self._tally.minute(now, 0, len(self._free) - len(self._away))
        return self._tally.figures()

    def _give(self, now: int) -> None:
        """Every free thread asks."""
        asking = np.repeat(self._order, self._free[self._order])
        if len(asking):
            chosen = np.array(self._best.of(len(asking), now, self._values), np.int64)
            self._start(asking[: len(chosen)], chosen, now)

    def _values(self, channels: Ints, now: int) -> FloatArray:
        return as_floats(self._table[self._place[channels] + 2 * now] * self._worth_now[channels])

    def _free_again(self, channels: Sequence[int] | Ints) -> None:
        """These channels are free again."""
        if len(channels):
            self._worth_now[channels] = self._worth[channels]
            self._best.add(np.asarray(channels))

    def _start(self, machines: Ints, channels: Ints, now: int) -> None:
        world = self._world
        took = world.waiting[channels] + world.kilobits[channels] * self._per_kilobit[machines]
        self._submitted[channels] += 1
        self._worth_now[channels] = 0.0
        self._holder[channels], self._begun[channels] = machines, now
        self._ends[channels] = now + np.maximum(np.rint(took), 1).astype(np.int64)
        np.subtract.at(self._free, machines, 1)

    def _end(self, now: int) -> None:
        ended = np.flatnonzero(self._ends == now)
        begun = self._begun[ended]
        np.add.at(self._free, self._holder[ended], 1)
        self._holder[ended] = self._ends[ended] = _NOBODY
        self._updated[ended] += 1
        # A copy is as of when its pages were asked for, which is in the middle on average.
        self._place[ended] = self._first[ended] - (begun + now)
        self._tally.came(ended, begun, now)
        self._free_again(ended)

    def _turn(self, machine: int, *, tells: bool) -> None:
        """A machine goes, or comes back."""
        if machine in self._away:
            self._away.discard(machine)
            self._free[machine] = THREADS
            return
        self._away.add(machine)
        self._free[machine] = 0
        held = np.flatnonzero(self._holder == machine)
        self._holder[held] = self._ends[held] = _NOBODY
        if tells:
            self._free_again(held)
        else:
            self._lapsing += held.tolist()
