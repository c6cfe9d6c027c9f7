"""Sites by priority groups, as SARSS has its channels: FIXED, IIR and ICR as the board's order.

Five groups of equal size by how often pages of the sites change; a site is due every interval of
its group, and who has been due longest goes first. A site that is due again before it was visited
has missed a turn. FIXED looks as often as pages change; IIR and ICR start there and follow the
capacity seen (`iir`, `icr`). Sites are put into groups anew when one comes or goes, and after as
many visits as there are sites, 200 at the most, since rates are learned on the way.

Times are in any unit, rates per that unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headgate.recrawl.arrays import FloatArray
from headgate.recrawl.groups import Counts, Groups, reassignment_due
from headgate.recrawl.icr import Icr
from headgate.recrawl.iir import Iir

__all__ = ["ChannelGroups", "MakeStrategy", "Strategy", "fixed", "icr", "iir"]

_GROUPS = 5
_VISITS = 200


class Strategy(Protocol):
    """Gives groups new intervals."""

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups: ...


MakeStrategy = Callable[[FloatArray], Strategy | None]
"""From the first intervals; None: groups look as often as their pages change."""


def fixed(_: FloatArray) -> None:
    return None


def iir(_: FloatArray) -> Strategy:
    return Iir(0.5)


def icr(first: FloatArray) -> Strategy:
    return Icr(first, 0.5)


@dataclass(slots=True)
class _Channel:
    rate: float
    shortest: float
    due: float
    """Its first turn that was not taken."""
    group: int = 0
    submitted: int = 0
    """Turns that were taken or missed since intervals were reassigned."""
    updated: int = 0
    """Turns taken since."""


class ChannelGroups:
    """Sites go by name."""

    def __init__(self, make_strategy: MakeStrategy) -> None:
        self._make_strategy = make_strategy
        self._strategy: Strategy | None = None
        self._channels: dict[str, _Channel] = {}
        self._intervals: FloatArray | None = None
        """Of the groups; None: to be made."""
        self._grouped = False
        self._since = 0.0
        self._visits = 0

    def put(self, site: str, rate: float, shortest: float, due: float) -> None:
        """A site, or how often its pages change as is known now. It is not due sooner than
        ``shortest`` after a turn; ``due`` is the first one of a site that is new."""
        known = self._channels.get(site)
        if known is None:
            self._channels[site] = _Channel(rate, shortest, due)
            self._grouped = False
        else:
            known.rate, known.shortest = rate, shortest

    def drop(self, site: str) -> None:
        if self._channels.pop(site, None) is not None:
            self._grouped = False

    def due(self, site: str) -> float:
        """When its next turn is or was; a site not known is due at once."""
        channel = self._channels.get(site)
        return channel.due if channel else 0.0

    def visited(self, site: str, now: float) -> None:
        """It has its turn."""
        channel = self._channels.get(site)
        if channel is None:
            return
        interval = self._interval(channel, now)
        turns = max(self._turns(channel, now), 1)
        channel.submitted += turns
        channel.updated += 1
        channel.due = max(channel.due, now - turns * interval) + turns * interval
        self._visits += 1
        if self._visits % min(_VISITS, len(self._channels)) == 0:
            self._group(now)
        self._reassign(now)

    def _turns(self, channel: _Channel, now: float) -> int:
        """That it has waited for."""
        if channel.due > now:
            return 0
        return int((now - channel.due) / self._interval(channel, now)) + 1

    def _interval(self, channel: _Channel, now: float) -> float:
        if not self._grouped:
            self._group(now)
        assert self._intervals is not None
        return max(float(self._intervals[channel.group]), channel.shortest)

    def _group(self, now: float) -> None:
        ranked = sorted(self._channels.values(), key=lambda channel: -channel.rate)
        for rank, channel in enumerate(ranked):
            channel.group = rank * _GROUPS // len(ranked)
        rates = np.array([channel.rate for channel in ranked])
        members = np.array([channel.group for channel in ranked])
        sizes = np.bincount(members, minlength=_GROUPS)
        means = np.bincount(members, rates, minlength=_GROUPS) / np.maximum(sizes, 1)
        of_changes = 1 / np.where(sizes > 0, means, rates.min())
        self._grouped = True
        if self._intervals is None:
            self._strategy, self._since = self._make_strategy(of_changes), now
        if self._strategy is None or self._intervals is None:
            self._intervals = of_changes
        if isinstance(self._strategy, Icr):
            # The paper knows rates beforehand; here the ratios kept follow what is learned.
            self._strategy.first_intervals = of_changes

    def _reassign(self, now: float) -> None:
        if self._strategy is None or self._intervals is None:
            return
        channels = list(self._channels.values())
        updated = np.array([float(channel.updated) for channel in channels])
        members = np.array([channel.group for channel in channels])
        groups = Groups(members, self._intervals)
        counts = Counts(np.zeros(len(channels)), updated, self._since)
        if not reassignment_due(groups, counts):
            return
        turns = [channel.submitted + self._turns(channel, now) for channel in channels]
        counts.submitted = np.array(turns, dtype=np.float64)
        self._intervals = self._strategy.reassigned(groups, counts, now).intervals
        for channel in channels:
            channel.submitted = channel.updated = 0
        self._since = now
