"""The policies of the replay, by name: Headgate's own board, and published ones.

Whatever has intervals asks for what is due, the longest due first, as far as the bytes go; a page
that is due again before it was asked has missed a turn. The rivals with priority groups are told
the true mean rates of the pages, which nobody has; Headgate's board and Nutch's rule know nothing
beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headgate.lab.papers.freshness.changes import DAYS
from headgate.lab.papers.freshness.kept import Kept
from headgate.lab.papers.freshness.replay import STEP_DAYS, PageLook, Policy, Web
from headgate.model.keeping import Staleness
from headgate.recrawl import nutch
from headgate.recrawl.arrays import FloatArray
from headgate.recrawl.groups import Counts, Groups, reassignment_due
from headgate.recrawl.icr import Icr
from headgate.recrawl.iir import Iir

__all__ = ["HEADGATE", "POLICIES", "UNIFORM"]

UNIFORM, HEADGATE = "uniform", "headgate"
_GROUPS = 5


@dataclass(slots=True)
class _LongestUnseen:
    """Uniform: every page as often as any other."""

    asked: FloatArray

    def next_pages(self, now: float) -> Sequence[int]:
        page = int(np.argmin(self.asked))
        return () if now - self.asked[page] < STEP_DAYS else (page,)

    def looked(self, looks: Sequence[PageLook]) -> None:
        for look in looks:
            self.asked[look.page] = look.time


@dataclass(slots=True)
class _Nutch:
    """Apache Nutch's adaptive schedule with its defaults."""

    interval: FloatArray
    due: FloatArray

    @classmethod
    def of(cls, web: Web) -> _Nutch:
        interval = np.full(len(web.pages), nutch.FIRST_INTERVAL)
        return cls(interval, interval * np.linspace(0, 1, len(interval)))

    def next_pages(self, now: float) -> Sequence[int]:
        page = int(np.argmin(self.due))
        return (page,) if self.due[page] <= now else ()

    def looked(self, looks: Sequence[PageLook]) -> None:
        for look in looks:
            interval = nutch.next_interval(float(self.interval[look.page]), look.changed)
            self.interval[look.page] = interval
            self.due[look.page] = look.time + max(interval, STEP_DAYS)


class _Strategy(Protocol):
    """Gives groups new intervals: IIR, ICR."""

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups: ...


@dataclass(slots=True)
class _Grouped:
    """Priority groups of SARSS: fixed intervals, or those that a strategy reassigns."""

    groups: Groups
    strategy: _Strategy | None
    counts: Counts
    due: FloatArray
    waiting_since: FloatArray
    """Infinite: not waiting."""
    _now: float = field(default=0.0)

    @classmethod
    def of(cls, web: Web, strategy: Callable[[FloatArray], _Strategy | None]) -> _Grouped:
        groups = _by_rate(web)
        due = groups.intervals[groups.members] * np.linspace(0, 1, len(web.pages))
        waiting = np.full(len(due), np.inf)
        counts = Counts.none(len(due), 0.0)
        return cls(groups, strategy(groups.intervals), counts, due, waiting)

    def next_pages(self, now: float) -> Sequence[int]:
        if now > self._now:
            self._now = now
            self._submit(now)
        page = int(np.argmin(self.waiting_since))
        return (page,) if np.isfinite(self.waiting_since[page]) else ()

    def looked(self, looks: Sequence[PageLook]) -> None:
        for look in looks:
            self.waiting_since[look.page] = np.inf
            self.counts.updated[look.page] += 1

    def _submit(self, now: float) -> None:
        due = self.due <= now
        self.counts.submitted[due] += 1
        # A task that still waits is replaced by the new one, which keeps its place.
        self.waiting_since[due] = np.minimum(self.waiting_since[due], now)
        self.due[due] = now + self.groups.intervals[self.groups.members[due]]
        if self.strategy is not None and reassignment_due(self.groups, self.counts):
            self.groups = self.strategy.reassigned(self.groups, self.counts, now)
            self.counts = Counts.none(len(due), now)


def _by_rate(web: Web) -> Groups:
    """Five groups of equal size by true change rate, each looked at as often as it changes."""
    rates = np.array([(len(page.changes) + 0.5) / DAYS for page in web.pages])
    ranks = np.argsort(np.argsort(-rates, kind="stable"), kind="stable")
    members: npt.NDArray[np.int_] = ranks * _GROUPS // len(rates)
    means = np.array([rates[members == group].mean() for group in range(_GROUPS)])
    return Groups(members, np.maximum(1 / means, STEP_DAYS))


POLICIES: dict[str, Callable[[Web], Policy]] = {
    UNIFORM: lambda web: _LongestUnseen(np.zeros(len(web.pages))),
    "Nutch adaptive": _Nutch.of,
    "FIXED": lambda web: _Grouped.of(web, lambda _: None),
    "IIR, δ = 0.5": lambda web: _Grouped.of(web, lambda _: Iir(0.5)),
    "ICR, δ = 0.5": lambda web: _Grouped.of(web, lambda first: Icr(first, 0.5)),
    "freshness index": lambda web: Kept.of(web, Staleness.FRESHNESS),
    HEADGATE: lambda web: Kept.of(web, Staleness.AGE),
}
"""By name; Headgate's default is the age index."""
