"""The same volunteers' machines, asking for work: Headgate's pull.

Whenever a thread is free it gets the channel that is worth most per cost, of those that nobody is
at: the value of a look is that of `recrawl.look_value`, and what is worth most goes first, as on
the grid's board. Cost is the minutes that a task takes, times what churn makes of them: a machine
that leaves takes unfinished work with it. A channel is not asked again within half of the mean time
between its changes. Who leaves and says so gives its tasks back at once; of who vanishes, leases
lapse after a minute. Nothing waits in queues, and nothing is known of the capacity.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headgate.lab.worlds.volunteer_figures import Figures, Tally
from headgate.lab.worlds.volunteers import FIRST_INTERVALS, THREADS, Volunteers
from headgate.model.keeping import Staleness
from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.look_value import look_value
from headgate.recrawl.staleness import mean_freshness

__all__ = ["PulledTasks", "churned_cost", "most_valuable"]

_MEAN_STAY = 900.0
"""Minutes for which a machine goes on being here, about, when a task starts."""
_POLITE = 0.5
"""Of the mean time between changes."""
_NEVER = 4.0
"""Times the mean time between changes: since when a channel is taken for unseen at the start."""


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
    halves = 2 * (minutes + round(_NEVER * float(FIRST_INTERVALS.max()))) + 1
    since = np.arange(halves) / 2
    rows = [
        np.where(since >= _POLITE * interval, look_value(staleness, 1 / interval, since), 0.0)
        for interval in FIRST_INTERVALS.tolist()
    ]
    return as_floats(np.concatenate(rows)), np.arange(len(rows), dtype=np.int64) * halves


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
        self._waiting, self._kilobits = world.waiting.tolist(), world.kilobits.tolist()
        self._per_kilobit = world.per_kilobit.tolist()
        self._order = np.random.default_rng((seed, 3)).permutation(machines).tolist()
        self._free = dict.fromkeys(self._order, THREADS)
        """Threads of each machine that is here, if it has any."""
        self._away: set[int] = set()
        self._life = [0] * machines
        self._held: list[set[int]] = [set() for _ in range(machines)]
        self._ends: list[list[tuple[int, int, int, int]]] = [[] for _ in range(minutes)]
        self._lapsing: list[int] = []
        self._tally = Tally(world, minutes)

    def run(self) -> Figures:
        for now in range(self._minutes):
            self._free_again(self._lapsing)
            self._lapsing = []
            for machine, tells in self._world.turns[now]:
                self._turn(machine, tells=tells)
            for end in self._ends[now]:
                self._end(*end, now)
            self._ends[now] = []
            self._give(now)
            self._tally.minute(now, 0, len(self._life) - len(self._away))
        return self._tally.figures()

    def _give(self, now: int) -> None:
        """Every free thread asks."""
        asking = [machine for machine, free in self._free.items() for _ in range(free)]
        if not asking:
            return
        chosen = most_valuable(self._values(now), len(asking))
        for machine, channel in zip(asking, chosen, strict=False):
            self._start(machine, channel, now)

    def _values(self, now: int) -> FloatArray:
        return as_floats(self._table[self._place + 2 * now] * self._worth_now)

    def _free_again(self, channels: list[int]) -> None:
        self._worth_now[channels] = self._worth[channels]

    def _start(self, machine: int, channel: int, now: int) -> None:
        self._tally.submitted[channel] += 1
        self._worth_now[channel] = 0.0
        self._held[machine].add(channel)
        left = self._free[machine] - 1
        if left:
            self._free[machine] = left
        else:
            del self._free[machine]
        took = self._waiting[channel] + self._kilobits[channel] * self._per_kilobit[machine]
        end = now + max(1, round(took))
        if end < self._minutes:
            self._ends[end].append((machine, self._life[machine], channel, now))

    def _end(self, machine: int, life: int, channel: int, begun: int, now: int) -> None:
        if self._life[machine] != life:
            return
        self._held[machine].discard(channel)
        self._free[machine] = self._free.get(machine, 0) + 1
        self._worth_now[channel] = self._worth[channel]
        # The copy is as of when its pages were asked for, which is in the middle on average.
        self._place[channel] = self._first[channel] - (begun + now)
        self._tally.came(channel, begun, now)

    def _turn(self, machine: int, *, tells: bool) -> None:
        """A machine goes, or comes back."""
        if machine in self._away:
            self._away.discard(machine)
            self._free[machine] = THREADS
            return
        self._away.add(machine)
        self._free.pop(machine, None)
        self._life[machine] += 1
        channels, self._held[machine] = list(self._held[machine]), set()
        if tells:
            self._free_again(channels)
        else:
            self._lapsing += channels
