"""The report of a run, from what was planned and what came: pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from headgate.control.samples import Samples
from headgate.crawling.progress import Progress, SiteState
from headgate.frontier.scope import host_of
from headgate.model.plan import LATE_AFTER_SECONDS, Plan, PlannedSite
from headgate.model.quota import QuotaUse
from headgate.model.run_report import HostFigures, QuotaReport, RunReport, SiteReport
from headgate.model.site import Site
from headgate.model.timetable import Timetable

__all__ = ["RunLog", "make_report"]

_HOSTS_SHOWN = 20


@dataclass(slots=True)
class RunLog:
    """What a run's observer notes down."""

    stamp: str
    started_at: float
    samples: Samples = field(default_factory=Samples)
    budget_changes: list[tuple[float, float | None]] = field(default_factory=list)
    started: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    seconds: float = 0.0
    made_way_seconds: float = 0.0
    left_to_others: float = 0.0
    """Bytes, both since the run began."""
    interrupted: bool = False
    quota: QuotaUse | None = None
    """As it stood at the last look; None: there is none."""

    def look(self, now: float, reports: Sequence[Progress], began: float) -> dict[str, float]:
        """Note a look; the sites' rates since the last one. ``began`` is the run's start by the
        clock that progress goes by."""
        for report in reports:
            self.progress[report.site] = report
            if report.started is not None:
                self.started[report.site] = report.started - began
            if report.ended is not None:
                self.finished[report.site] = report.ended - began
        self.seconds = now
        return self.samples.take(now, reports, self.left_to_others)


def make_report(sites: Sequence[Site], crawlers: int, plan: Plan | None, log: RunLog) -> RunReport:
    planned = {site.name: site for site in plan.sites} if plan else {}
    reports = tuple(_site_report(site, planned.get(site.name), log) for site in sites)
    wire_bytes = sum(site.wire_bytes for site in reports)
    last = max(log.finished.values(), default=log.seconds)
    return RunReport(
        stamp=log.stamp,
        started_at=log.started_at,
        seconds=log.seconds,
        policy=plan.policy if plan else "unlimited",
        budget=log.budget_changes[0][1] if log.budget_changes else None,
        budget_changes=tuple(log.budget_changes),
        crawlers=crawlers,
        pages=sum(site.pages for site in reports),
        bytes=sum(site.bytes for site in reports),
        wire_bytes=wire_bytes,
        mean_rate=_came(log) / last if last > 0 else 0.0,
        peak_rate_1s=log.samples.peak_rate,
        utilisation=_utilisation(log, last),
        sites=reports,
        timeline=log.samples.timeline,
        made_way_seconds=log.made_way_seconds,
        left_to_others=log.left_to_others,
        slowest_hosts=_slowest(sites, log),
        interrupted=log.interrupted,
        quota=_quota(log.quota),
        zone=_zone(plan),
    )


def _quota(use: QuotaUse | None) -> QuotaReport | None:
    if use is None:
        return None
    return QuotaReport(
        str(use.quota),
        use.quota.bytes,
        use.used,
        use.left,
        use.resets.timestamp(),
        str(use.quota.zone),
    )


def _zone(plan: Plan | None) -> str | None:
    bandwidth = None if plan is None else plan.budget.bandwidth
    return str(bandwidth.zone) if isinstance(bandwidth, Timetable) else None


def _site_report(site: Site, planned: PlannedSite | None, log: RunLog) -> SiteReport:
    progress = log.progress.get(site.name) or Progress(site.name)
    finished = log.finished.get(site.name)
    return SiteReport(
        name=site.name,
        state=progress.state.value,
        pages=progress.pages,
        fetches=progress.fetches,
        bytes=progress.payload_bytes,
        wire_bytes=progress.wire_bytes,
        errors=dict(progress.errors),
        started=log.started.get(site.name),
        finished=finished,
        deadline=site.deadline,
        met=_met(site, progress, finished, log.seconds),
        planned_start=planned.start if planned else None,
        planned_end=planned.end if planned else None,
        planned_segments=planned.segments if planned else (),
        foreseen_end=planned.foreseen if planned else None,
        reason=progress.reason if progress.state is SiteState.STOPPED else "",
        given_up=dict(progress.given_up),
        focus=progress.focus,
    )


def _met(site: Site, progress: Progress, finished: float | None, now: float) -> bool | None:
    if site.deadline is None:
        return None
    if progress.state is SiteState.DONE and finished is not None:
        return finished <= site.deadline + LATE_AFTER_SECONDS
    return False if now > site.deadline or progress.state is SiteState.STOPPED else None


def _utilisation(log: RunLog, last: float) -> float | None:
    """Bytes that came against those the budget allowed, up to the end of the last site."""
    allowed = 0.0
    changes = [*log.budget_changes, (last, None)]
    for (start, rate), (end, _) in pairwise(changes):
        if rate is None:
            return None
        allowed += rate * max(min(end, last) - start, 0.0)
    return _came(log) / allowed if allowed > 0 and math.isfinite(allowed) else None


def _came(log: RunLog) -> int:
    """Wire bytes of this run, without those of one that it resumed."""
    return sum(sum(point.bytes.values()) for point in log.samples.timeline)


def _slowest(sites: Sequence[Site], log: RunLog) -> tuple[HostFigures, ...]:
    figures = [
        HostFigures(
            host_of(site.seeds[0]),
            progress.fetches,
            progress.fetch_seconds / progress.fetches,
            progress.first_byte_seconds / progress.fetches,
        )
        for site in sites
        if site.seeds and (progress := log.progress.get(site.name)) and progress.fetches
    ]
    return tuple(sorted(figures, key=lambda host: -host.mean_seconds)[:_HOSTS_SHOWN])
