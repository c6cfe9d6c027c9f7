"""The policies of the replay, by name: Headgate's own board, and published ones.

Policies with intervals request what is due, longest overdue first, as far as the bytes go; a page
that is due again before it was requested has missed a turn. Policies with priority groups get the
true mean rates of the pages, which nobody has in practice; Headgate's board and Nutch's rule know
nothing beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headgate.features.keep.recrawl import page_histories
from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.priority_groups import (
    ChannelGroups,
    MakeStrategy,
    SavedChannel,
    SavedGroups,
    fixed,
    icr,
    iir,
)
from headgate.features.keep.recrawl.site_order import VisitOf
from headgate.model.keeping import Staleness
from headgate_lab.papers.freshness.changes import DAYS
from headgate_lab.papers.freshness.kept import Kept
from headgate_lab.papers.freshness.replay import STEP_DAYS, PageLook, Policy, Web

__all__ = ["FRESHNESS", "HEADGATE", "POLICIES", "UNIFORM"]

UNIFORM, HEADGATE, FRESHNESS = "uniform", "headgate", "freshness index"


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
        interval = np.full(len(web.pages), page_histories.FIRST_INTERVAL)
        return cls(interval, interval * np.linspace(0, 1, len(interval)))

    def next_pages(self, now: float) -> Sequence[int]:
        page = int(np.argmin(self.due))
        return (page,) if self.due[page] <= now else ()

    def looked(self, looks: Sequence[PageLook]) -> None:
        for look in looks:
            interval = page_histories.next_interval(float(self.interval[look.page]), look.changed)
            self.interval[look.page] = interval
            self.due[look.page] = look.time + max(interval, STEP_DAYS)


@dataclass(slots=True)
class _Grouped:
    """Priority groups of SARSS, each page a channel."""

    groups: ChannelGroups
    due: FloatArray

    @classmethod
    def of(cls, web: Web, strategy: MakeStrategy) -> _Grouped:
        rates = [(len(page.changes) + 0.5) / DAYS for page in web.pages]
        due = [number / len(rates) / rate for number, rate in enumerate(rates)]  # not all at once
        turns = {str(number): SavedChannel(at) for number, at in enumerate(due)}
        groups = ChannelGroups(strategy, SavedGroups(channels=turns))
        for number, rate in enumerate(rates):
            groups.put(str(number), rate, STEP_DAYS, 0.0)
        return cls(groups, np.array(due))

    def next_pages(self, now: float) -> Sequence[int]:
        page = int(np.argmin(self.due))
        return (page,) if self.due[page] <= now else ()

    def looked(self, looks: Sequence[PageLook]) -> None:
        for look in looks:
            page = str(look.page)
            self.groups.begin(page, look.time)
            self.groups.end(page, look.time, VisitOf.ALL)
            self.due[look.page] = self.groups.due(page, look.time)


POLICIES: dict[str, Callable[[Web], Policy]] = {
    UNIFORM: lambda web: _LongestUnseen(np.zeros(len(web.pages))),
    "Nutch adaptive": _Nutch.of,
    "FIXED": lambda web: _Grouped.of(web, fixed),
    "IIR, δ = 0.5": lambda web: _Grouped.of(web, iir),
    "ICR, δ = 0.5": lambda web: _Grouped.of(web, icr),
    FRESHNESS: lambda web: Kept.of(web, Staleness.FRESHNESS),
    HEADGATE: lambda web: Kept.of(web, Staleness.AGE),
}
"""By name; Headgate's default is the age index."""
