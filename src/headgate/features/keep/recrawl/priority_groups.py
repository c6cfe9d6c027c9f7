"""Site orders by priority groups, as for the channels of SARSS: FIXED, IIR and ICR.

Five groups of equal size by how often pages of the sites change. A site has a turn every interval
of its group, and the site that has been due longest goes first. A site that is due again before its
turn began has missed a turn. With FIXED, the intervals are those of changes; IIR and ICR start
there and adapt to the observed capacity (`iir`, `icr`). A turn is submitted when it is due, and
counts as an update when all of the site was fetched: a turn without an answer, or that never began,
is submitted only. Sites are grouped again when one is added or removed, and after as many turns as
there are sites, at most 200, since rates are learned on the way.

Times are in any unit, rates per that unit.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.site_order import AT_ANY_TIME, VisitOf
from headgate.features.keep.recrawl.site_table import SiteRows

__all__ = [
    "ChannelGroups",
    "Counts",
    "Groups",
    "Icr",
    "Iir",
    "MakeStrategy",
    "SavedChannel",
    "SavedGroups",
    "by_sums",
    "fixed",
    "icr",
    "iir",
    "in_order",
    "observed_intervals",
    "reassignment_due",
]

_UPDATES = 5
_SHARE = 0.5
_APART, _MOST_APART = 1.05, 3.0
"""σ and μ: least and largest ratio of a group's interval to that of the one before. The paper gives
no values; its own ratios are 2."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Priority groups: channels that change about equally often share one interval.

    As in SARSS (scale-adaptable recrawl strategies for a DHT-based distributed crawler): the
    manager submits a task for each channel every interval of its group, and volunteers' machines
    carry out as many as they can. FIXED leaves the intervals; IIR and ICR move them to the capacity
    seen. Group 0 is the fastest; the paper's tables print rank K − 1 − p.

    Counts are since the last reassignment of intervals; both strategies reassign when at least half
    of the fastest group's channels have been updated more than five times.

    ``members[i]`` is the group of channel i; ``intervals[p]`` that of group p.
    """

    members: npt.NDArray[np.int_]
    intervals: FloatArray

    @property
    def sizes(self) -> FloatArray:
        return as_floats(np.bincount(self.members, minlength=len(self.intervals)))


@dataclass(slots=True)
class Counts:
    """Of each channel since the last reassignment."""

    submitted: FloatArray
    updated: FloatArray
    since: float

    @classmethod
    def none(cls, channels: int, now: float) -> Counts:
        return cls(np.zeros(channels), np.zeros(channels), now)


def reassignment_due(groups: Groups, counts: Counts) -> bool:
    fastest = counts.updated[groups.members == 0]
    return bool(len(fastest) and np.mean(fastest > _UPDATES) >= _SHARE)


def observed_intervals(groups: Groups, counts: Counts, now: float) -> FloatArray:
    """Mean time between updates of each group's channels, without those that have none; twice the
    group's interval if no channel has any."""
    seen = counts.updated > 0
    per_channel = (now - counts.since) / np.maximum(counts.updated, 1)
    size = len(groups.intervals)
    channels = np.bincount(groups.members[seen], minlength=size)
    sums = np.bincount(groups.members[seen], per_channel[seen], minlength=size)
    means = sums / np.maximum(channels, 1)
    return as_floats(np.where(channels > 0, means, 2 * groups.intervals))


def in_order(intervals: FloatArray) -> FloatArray:
    """Make intervals of slower groups longer, but not too much: the paper's checkPriorities.

    >>> in_order(np.array([60.0, 50.0, 900.0])).tolist()
    [60.0, 63.0, 189.0]
    """
    ordered = intervals.copy()
    for group in range(1, len(ordered)):
        before = ordered[group - 1]
        if ordered[group] < before:
            ordered[group] = _APART * before
        ordered[group] = min(ordered[group], _MOST_APART * before)
    return ordered


@dataclass(slots=True)
class Icr:
    """ICR, interrelated interval coordinated reassignment (SARSS): one capacity, fixed ratios.

    With n_p channels in group p, A_p the group's first interval over that of the fastest, and the
    updates seen per time as the capacity C,

        T_0 = Σ_p (n_p / A_p) / C,    T_p = T_0 · A_p

    T_0 is lowered by δ where the success rate of all groups together rose, and the groups are put
    in order. The equations of the paper are lost in its text and rebuilt; C is counted over all
    channels, since a mean of intervals would overstate it.
    """

    first_intervals: FloatArray
    """Of the groups at the start: their ratios are kept."""
    delta: float = 0.5
    success: tuple[float, ...] = ()
    """Of all groups together at the last reassignment; empty: there was none."""

    def follow(self, intervals: FloatArray) -> None:
        """Keep these ratios from now on: rates, which the paper knows beforehand, are learned."""
        self.first_intervals = intervals

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups:
        """The same groups with new intervals."""
        ratios = self.first_intervals / self.first_intervals[0]
        updates = float(counts.updated.sum())
        capacity = updates / (now - counts.since)
        fastest = float((groups.sizes / ratios).sum()) / capacity
        success = updates / max(float(counts.submitted.sum()), 1.0)
        if (success,) > self.success:
            fastest *= 1 - self.delta
        self.success = (success,)
        return Groups(groups.members, in_order(fastest * ratios))


def by_sums(groups: Groups, counts: Counts, now: float) -> FloatArray:
    """The mean time between updates of each group's channels, by sums over the group."""
    updated = np.bincount(groups.members, counts.updated, minlength=len(groups.intervals))
    seen = groups.sizes * (now - counts.since) / np.maximum(updated, 1)
    return as_floats(np.where(updated > 0, seen, 2 * groups.intervals))


@dataclass(slots=True)
class Iir:
    """IIR, independent interval reassignment (SARSS): each priority group follows its own updates.

        T_p ← mean time between updates of the group's channels,
              times (1 − δ) if the group's success rate rose since the last time

    then the groups are put in order (`groups.in_order`). The success rate is of each group by
    itself; the paper's code goes on counting from group to group, which is taken for a slip. With
    success p the new interval is T/p, lowered about every other time, so the strategy rests at p* =
    √(1 − δ) whatever the capacity: below, intervals grow without end. Above it by as much as the
    mean of the channels' intervals is above T/p, for a mean of quotients exceeds the quotient of
    the sums (`by_sums`).
    """

    delta: float = 0.5
    success: tuple[float, ...] = ()
    """Of the groups at the last reassignment; empty: there was none."""
    observed: Callable[[Groups, Counts, float], FloatArray] = observed_intervals

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups:
        """The same groups with new intervals."""
        size = len(groups.intervals)
        submitted = np.bincount(groups.members, counts.submitted, minlength=size)
        updated = np.bincount(groups.members, counts.updated, minlength=size)
        success = updated / np.maximum(submitted, 1)
        last = np.array(self.success) if len(self.success) == size else np.zeros(size)
        self.success = tuple(success.tolist())
        intervals = self.observed(groups, counts, now)
        encouraged = np.where(success > last, intervals * (1 - self.delta), intervals)
        return Groups(groups.members, in_order(encouraged))


# The sites, and the groups they are in.


_GROUPS = 5
_TURNS = 200

Strategy = Iir | Icr
MakeStrategy = Callable[[FloatArray, tuple[float, ...]], Strategy | None]
"""From the first intervals, and the success rates before a restart; None: intervals stay those of
changes."""


def fixed(_first: FloatArray, _success: tuple[float, ...]) -> None:
    return None


def iir(_first: FloatArray, success: tuple[float, ...]) -> Strategy:
    return Iir(0.5, success)


def icr(first: FloatArray, success: tuple[float, ...]) -> Strategy:
    return Icr(first, 0.5, success)


class SavedChannel(msgspec.Struct, frozen=True):
    due: float
    began: float = AT_ANY_TIME
    submitted: int = 0
    updated: int = 0
    is_open: bool = False


class SavedGroups(msgspec.Struct, frozen=True):
    """State that survives a restart."""

    intervals: tuple[float, ...] = ()
    since: float = 0.0
    success: tuple[float, ...] = ()
    """The strategy's success rates at the last reassignment."""
    channels: dict[str, SavedChannel] = msgspec.field(default_factory=dict)


@dataclass(slots=True)
class _Channel:
    rate: float
    shortest: float
    looked: float
    """All pages were fetched since; infinite: none was."""
    due: float = math.nan
    """Its first turn that was not submitted; nan: to be computed from ``looked``."""
    group: int = 0
    submitted: int = 0
    """Turns taken or missed since intervals were reassigned."""
    updated: int = 0
    """Turns taken since."""
    began: float = AT_ANY_TIME
    """Its newest turn."""
    is_open: bool = False


class _Intervals:
    """Intervals of the groups, with the strategy that adapts them."""

    def __init__(self, make_strategy: MakeStrategy) -> None:
        self._make_strategy = make_strategy
        self.strategy: Strategy | None = None
        self.now: FloatArray | None = None
        """The fastest group first; None: not made yet."""
        self.since = 0.0
        """When they were last reassigned."""

    def interval(self, channel: _Channel) -> float:
        assert self.now is not None, "groups were made"
        return max(float(self.now[channel.group]), channel.shortest)

    def group(self, channels: Collection[_Channel], before: SavedGroups, now: float) -> None:
        ranked = sorted(channels, key=lambda channel: -channel.rate)
        for rank, channel in enumerate(ranked):
            channel.group = rank * _GROUPS // len(ranked)
        rates = np.array([channel.rate for channel in ranked])
        members = np.array([channel.group for channel in ranked])
        sizes = np.bincount(members, minlength=_GROUPS)
        means = np.bincount(members, rates, minlength=_GROUPS) / np.maximum(sizes, 1)
        of_changes = as_floats(1 / np.where(sizes > 0, means, rates.min()))
        if self.now is None:
            self._start(of_changes, before, now)
        if self.strategy is None:
            self.now = of_changes
        if isinstance(self.strategy, Icr):
            self.strategy.follow(of_changes)

    def reassign(
        self, channels: Collection[_Channel], missed: Callable[[_Channel], int], now: float
    ) -> None:
        """Reassign intervals if due; ``missed`` counts turns of a channel that were not taken."""
        if self.strategy is None or self.now is None:
            return
        updated = np.array([float(channel.updated) for channel in channels])
        members = np.array([channel.group for channel in channels])
        groups = Groups(members, self.now)
        counts = Counts(np.zeros(len(channels)), updated, self.since)
        if not reassignment_due(groups, counts):
            return
        turns = [each.submitted + (each.due <= now) + missed(each) for each in channels]
        counts.submitted = np.array(turns, dtype=np.float64)
        self.now = self.strategy.reassigned(groups, counts, now).intervals
        for channel in channels:
            channel.submitted = channel.updated = 0
        self.since = now

    def _start(self, of_changes: FloatArray, before: SavedGroups, now: float) -> None:
        resumes = len(before.intervals) == _GROUPS
        self.strategy = self._make_strategy(of_changes, before.success if resumes else ())
        self.now, self.since = of_changes, now
        if self.strategy is not None and resumes:
            self.now, self.since = np.array(before.intervals), before.since


class ChannelGroups:
    """Sites go by name."""

    def __init__(self, make_strategy: MakeStrategy, known: SavedGroups | None = None) -> None:
        self._intervals = _Intervals(make_strategy)
        self._saved = known or SavedGroups()
        self._channels: dict[str, _Channel] = {}
        self._untold: set[str] = set()
        """Sites whose turns changed since `turns` was called."""
        self._grouped = False
        self._turns = 0

    @property
    def intervals(self) -> FloatArray | None:
        """Of the groups, the fastest first; None: there are none yet."""
        return self._intervals.now

    def put(self, site: str, rate: float, shortest: float, looked: float) -> None:
        channel = self._channels.get(site)
        if channel is not None:
            channel.rate, channel.shortest, channel.looked = rate, shortest, looked
            return
        channel = self._channels[site] = _Channel(rate, shortest, looked)
        before = self._saved.channels.get(site)
        if before is not None:
            channel.due, channel.began, channel.is_open = before.due, before.began, before.is_open
            channel.submitted, channel.updated = before.submitted, before.updated
        self._grouped = False
        self._untold.add(site)

    def drop(self, site: str) -> None:
        if self._channels.pop(site, None) is not None:
            self._untold.discard(site)
            self._grouped = False

    def interval(self, site: str, now: float) -> float:
        """The interval between two turns of a site."""
        self._settle(now)
        return self._intervals.interval(self._channels[site])

    def due(self, site: str, now: float) -> float:
        """When its next turn is or was."""
        self._settle(now)
        return self._channels[site].due

    def turn_began(self, site: str, now: float) -> float:
        channel = self._channels.get(site)
        if channel is None:
            return AT_ANY_TIME
        return now if not channel.is_open and self.due(site, now) <= now else channel.began

    def begin(self, site: str, now: float) -> None:
        channel = self._channels.get(site)
        if channel is None or channel.is_open or self.due(site, now) > now:
            return
        missed = self._missed(channel, now)
        channel.submitted += missed + 1
        interval = self._intervals.interval(channel)
        channel.due = max(channel.due, now - (missed + 1) * interval) + (missed + 1) * interval
        channel.began, channel.is_open = now, True
        self._untold.add(site)

    def end(self, site: str, now: float, of: VisitOf) -> None:
        channel = self._channels.get(site)
        if channel is None or not channel.is_open or of is VisitOf.PART:
            return
        channel.is_open = False
        self._untold.add(site)
        channel.updated += of is VisitOf.ALL
        self._turns += 1
        if self._turns % min(_TURNS, len(self._channels)) == 0:
            self._intervals.group(self._channels.values(), self._saved, now)
        self._intervals.reassign(self._channels.values(), lambda each: self._missed(each, now), now)

    def turns(self, now: float) -> Mapping[str, float]:
        if self._channels:
            self._settle(now)
        channels = {site: self._channels[site] for site in self._untold}
        self._untold.clear()
        return {site: each.began if each.is_open else each.due for site, each in channels.items()}

    def values(self, rows: SiteRows, now: float) -> FloatArray:
        """Pages that were never fetched do not wait for the site's turn."""
        turn = rows.known & (rows.begins <= now) & ((rows.due <= now) | (rows.unseen > 0))
        return as_floats(np.where(turn, np.maximum(now - rows.due, 0.0) + 1.0, 0.0))

    def restore(self, saved: bytes) -> None:
        with contextlib.suppress(msgspec.MsgspecError):
            self._saved = msgspec.json.decode(saved, type=SavedGroups)

    def saved(self) -> bytes:
        channels = {
            site: SavedChannel(each.due, each.began, each.submitted, each.updated, each.is_open)
            for site, each in self._channels.items()
            if not math.isnan(each.due)
        }
        now, strategy = self._intervals.now, self._intervals.strategy
        intervals = () if now is None else tuple(now.tolist())
        success = () if strategy is None else strategy.success
        since = self._intervals.since
        return msgspec.json.encode(SavedGroups(intervals, since, success, channels))

    def _missed(self, channel: _Channel, now: float) -> int:
        """Missed turns, before the one that is due now."""
        return max(int((now - channel.due) / self._intervals.interval(channel)), 0)

    def _settle(self, now: float) -> None:
        """Make groups if needed, and set the first turn of new sites."""
        if self._grouped:
            return
        self._intervals.group(self._channels.values(), self._saved, now)
        self._grouped = True
        for channel in self._channels.values():
            if math.isnan(channel.due):
                asked = math.isfinite(channel.looked)
                channel.due = channel.looked + self._intervals.interval(channel) if asked else now
