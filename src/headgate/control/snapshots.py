"""Makes snapshots of a running crawl for display: shares, sizes, predicted ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

import msgspec

from headgate.control.forecast import Forecast
from headgate.control.size_estimate import SizeWatch
from headgate.crawling.progress import Progress
from headgate.model.budget import QuotaUse
from headgate.model.run_report import SiteReport
from headgate.model.snapshot import SiteSnapshot, Snapshot

__all__ = ["Moment", "Snapshots"]


class Moment(msgspec.Struct, frozen=True):
    """A running crawl at one moment; times are those of the run, its earlier legs included."""

    now: float
    reports: Sequence[Progress]
    granted: Mapping[str, float]
    measured: Mapping[str, float]
    """Bytes per second since the last look."""
    budget: float | None
    """Now; None: unlimited."""
    making_way: bool
    quota: QuotaUse | None
    """None: there is no quota."""
    standing: Callable[[Sequence[str] | None], Sequence[SiteReport]]
    """Returns the state of these sites, or of all, by the rules of the report."""
    ends: Mapping[str, float]
    """Predicted ends of sites, as far as known."""

    @property
    def paused(self) -> bool:
        """Whether the quota is used up."""
        return self.quota is not None and self.quota.spent

    def may_come(self, bytes_: float) -> bool:
        """Whether the quota allows so many bytes in this period."""
        return self.quota is None or (not self.quota.spent and bytes_ <= self.quota.left)


class Snapshots:
    """Caches the snapshot of each site: of ten thousand, few change between two looks."""

    def __init__(self, why_missed: Callable[[SiteReport, float], str]) -> None:
        """``why_missed`` gives the words for a site that missed its deadline without being late."""
        self._why_missed = why_missed
        self._sizes: dict[str, SizeWatch] = {}
        self._sites: dict[str, SiteSnapshot] = {}
        self._moving: Set[str] = frozenset()
        """Sites that run, or still had a rate in the last snapshot, or whose end was foreseen."""

    def planned(self, forecasts: Mapping[str, Forecast]) -> None:
        """Set the forecasts of sizes."""
        self._sizes = {name: SizeWatch(known) for name, known in forecasts.items()}
        self._sites.clear()

    def take(self, look: Moment) -> Snapshot:
        reports = {report.site: report for report in look.reports}
        names = list(self._moving | reports.keys() | look.ends.keys()) if self._sites else None
        changed = [
            self._site(standing, reports.get(standing.name), look)
            for standing in look.standing(names)
        ]
        self._sites.update({site.name: site for site in changed})
        running = {site.name for site in changed if site.running or site.rate > 0}
        self._moving = running | look.ends.keys()
        return Snapshot(
            look.now,
            look.budget,
            sites=tuple(self._sites.values()),
            making_way=look.making_way,
            paused_until=_end_of_pause(look.quota)
            if look.quota is not None and look.paused
            else "",
            changed=tuple(changed),
        )

    def _site(self, site: SiteReport, report: Progress | None, look: Moment) -> SiteSnapshot:
        size = self._sizes.get(site.name)
        rate = look.measured.get(site.name, 0.0)
        share = look.granted.get(site.name)
        eta = None if look.paused else look.ends.get(site.name)
        if size is not None and report is not None:
            left = size.observe(report).likely
            if eta is None and rate > 0 and look.may_come(left):
                eta = look.now + left / rate
        return SiteSnapshot(
            site.name,
            site.state,
            pages=site.pages,
            to_do=site.to_do,
            wire_bytes=site.wire_bytes,
            rate=rate,
            share=share if share is not None and share < float("inf") else None,
            expected=None if size is None else size.whole,
            deadline=site.deadline,
            eta=eta if site.finished is None else _end(site),
            errors=sum(site.errors.values()),
            relevant=site.focus.relevant if site.focus and site.focus.curve else None,
            missed=self._why_missed(site, look.now) if site.finished is not None else "",
        )


def _end(site: SiteReport) -> float | None:
    """None: the site did not finish, and its deadline is still open."""
    return None if site.deadline is not None and site.met is None else site.finished


def _end_of_pause(use: QuotaUse) -> str:
    return f"{use.resets.astimezone(use.quota.zone):%m-%d %H:%M}"
