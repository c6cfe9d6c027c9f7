"""Makes the report of a run from its plan and what came: pure.

All times are those of the run: seconds of crawling since its first start, over all its legs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Self

import msgspec

from headgate.control.timeline import SECOND, Samples
from headgate.crawling.progress import Progress, TaskState
from headgate.frontier.scope import host_of
from headgate.model.budget import QuotaUse
from headgate.model.plan import LATE_AFTER_SECONDS, Plan, PlannedSite
from headgate.model.run_report import (
    ENDS_AS_TOLD,
    FocusReport,
    HostFigures,
    LeftOut,
    Leg,
    QuotaReport,
    RunReport,
    SiteReport,
    Stall,
)
from headgate.model.score_order import QueueTally, ScoreOrder, ScoreOrderReport
from headgate.model.site import Site

__all__ = ["ReportBuilder", "RunLog", "deadline_met", "left_by_stop", "make_report", "standing"]

_SITES_A_PIECE = 250
"""Takes one or two milliseconds."""
_HOSTS_SHOWN = 20
_OWN_POLICY = "headgate"


@dataclass(slots=True)
class RunLog:
    """What is recorded while a run goes on, in the time of the run."""

    stamp: str
    legs: tuple[Leg, ...]
    """Including the present one."""
    earlier: RunReport | None = None
    """The report of the legs before; None: there was none, or nothing was saved."""
    samples: Samples = field(default_factory=Samples)
    budget_changes: list[tuple[float, float | None]] = field(default_factory=list)
    started: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    """Of the sites begun in this leg."""
    seconds: float = 0.0
    made_way_seconds: float = 0.0
    left_to_others: float = 0.0
    """Bytes; both count from the start of this leg."""
    interrupted: bool = False
    quota: QuotaUse | None = None
    """Its use at the last look; None: there is no quota."""
    stalls: list[Stall] = field(default_factory=list)
    """In this leg; whoever detects them adds them."""
    policy: str = ""
    """The policy that the user chose; empty: none."""
    policy_fault: str = ""
    """Why that policy was given up; empty: it was not."""
    order: ScoreOrder | None = None
    """The order of the common queue; None: there is none."""
    zone: str | None = None
    """The time zone of the budget's timetable; None: there is none."""
    earlier_sites: Mapping[str, SiteReport] = field(init=False)
    """The sites of ``earlier``, by name."""

    def __post_init__(self) -> None:
        self.earlier_sites = (
            {site.name: site for site in self.earlier.sites} if self.earlier else {}
        )

    @classmethod
    def start_leg(
        cls,
        stamp: str,
        wall: float,
        earlier: RunReport | None,
        elapsed: float,
        *,
        policy: str = "",
        order: ScoreOrder | None = None,
        zone: str | None = None,
    ) -> Self:
        """For a leg that begins at ``wall``, after ``elapsed`` seconds of crawling."""
        leg, before = Leg(wall, elapsed), () if earlier is None else earlier.sites
        samples = Samples(start=elapsed)
        if earlier is not None:
            samples = Samples(earlier.timeline, elapsed, earlier.peak_rate_1s or 0.0)
        return cls(
            stamp,
            (leg,) if earlier is None else (*earlier.legs, leg),
            earlier,
            samples,
            budget_changes=[] if earlier is None else list(earlier.budget_changes),
            started={s.name: s.started for s in before if s.started is not None},
            finished={s.name: s.finished for s in before if s.settled and s.finished is not None},
            seconds=elapsed,
            policy=policy,
            order=order,
            zone=zone,
        )

    @property
    def began(self) -> float:
        """When this leg began."""
        return self.legs[-1].start

    def observe(
        self, now: float, reports: Sequence[Progress], begun: Mapping[str, float]
    ) -> dict[str, float]:
        """Record a look; returns the rates of sites since the last one. ``begun``: when their tasks
        were started."""
        for report in reports:
            self.progress[report.site] = report
            if report.started is not None:
                self.started.setdefault(report.site, begun[report.site] + report.started)
            if report.ended is not None:
                self.finished[report.site] = begun[report.site] + report.ended
        self.seconds = now
        return self.samples.add(now, reports, self.left_to_others)

    def budget_is(self, now: float, rate: float | None, quota: QuotaUse | None = None) -> None:
        """Record the budget, if it has changed, and the use of the quota."""
        self.quota = quota
        if not self.budget_changes or self.budget_changes[-1][1] != rate:
            self.budget_changes.append((now, rate))

    def made_way(self, seconds: float, bytes_: float) -> None:
        """Since the start of this leg; recorded before the look whose bytes it explains."""
        self.made_way_seconds, self.left_to_others = seconds, bytes_

    def policy_failed(self, fault: str) -> None:
        self.policy_fault = fault

    def end(self, now: float, *, interrupted: bool) -> None:
        self.seconds, self.interrupted = now, interrupted


def make_report(sites: Sequence[Site], crawlers: int, plan: Plan | None, log: RunLog) -> RunReport:
    """``plan`` is that of the present leg; what an earlier leg promised stays promised."""
    return ReportBuilder(sites, crawlers, plan, log).whole()


@dataclass(slots=True)
class _Totals:
    """Of all sites so far."""

    pages: int = 0
    unchanged: int = 0
    bytes: int = 0
    wire_bytes: int = 0
    ended: bool = True
    queues: list[QueueTally] = field(default_factory=list)
    focuses: list[FocusReport] = field(default_factory=list)
    hosts: list[HostFigures] = field(default_factory=list)

    def add(self, site: SiteReport, hosts: Iterable[HostFigures]) -> None:
        self.pages += site.pages
        self.unchanged += site.unchanged
        self.bytes += site.bytes
        self.wire_bytes += site.wire_bytes
        self.ended = self.ended and site.finished is not None
        if site.queue is not None:
            self.queues.append(site.queue)
        if site.focus is not None and site.focus.curve:
            self.focuses.append(site.focus)
        self.hosts += hosts


@dataclass(slots=True)
class ReportBuilder:
    """One report, made some sites at a time: nobody waits for a hundred thousand. It is of one
    moment if neither the log nor the progress in it changes meanwhile."""

    sites: Sequence[Site]
    crawlers: int
    plan: Plan | None
    log: RunLog
    _totals: _Totals = field(default_factory=_Totals)
    _stalls: tuple[Stall, ...] = field(init=False)

    def __post_init__(self) -> None:
        before = self.log.earlier
        # Copied now: they are noted by others, at any time.
        self._stalls = (*(before.stalls if before else ()), *self.log.stalls)

    def whole(self) -> RunReport:
        reports = tuple(chain.from_iterable(self.some_sites()))
        return msgspec.structs.replace(self.rest(), sites=reports)

    def some_sites(self) -> Iterator[Sequence[SiteReport]]:
        """The reports of all sites, in their order."""
        planned = {site.name: site for site in self.plan.sites} if self.plan else {}
        sites = iter(self.sites)
        while some := list(islice(sites, _SITES_A_PIECE)):  # once: a manager of many unpacks each
            reports = [_site_report(site, planned.get(site.name), self.log) for site in some]
            for site, report in zip(some, reports, strict=True):
                self._totals.add(report, _host_figures(site, self.log))
            yield reports

    def rest(self) -> RunReport:
        """All but the sites, once each was in `some_sites`."""
        log, totals, before = self.log, self._totals, self.log.earlier
        last = max(log.finished.values(), default=log.seconds) if totals.ended else log.seconds
        mean_rate = _came(log) / last if last > 0 else 0.0
        return RunReport(
            stamp=log.stamp,
            started_at=log.legs[0].started_at,
            seconds=log.seconds,
            policy=_policy(self.plan, log),
            policy_fault=log.policy_fault or (before.policy_fault if before else ""),
            budget=log.budget_changes[0][1] if log.budget_changes else None,
            budget_changes=tuple(log.budget_changes),
            crawlers=self.crawlers,
            pages=totals.pages,
            unchanged=totals.unchanged,
            bytes=totals.bytes,
            wire_bytes=totals.wire_bytes,
            mean_rate=mean_rate,
            peak_rate_1s=max(log.samples.peak_rate, mean_rate) if last >= SECOND else None,
            utilisation=_utilisation(log, last),
            sites=(),
            timeline=log.samples.timeline,
            made_way_seconds=log.made_way_seconds + (before.made_way_seconds if before else 0.0),
            left_to_others=log.left_to_others + (before.left_to_others if before else 0.0),
            slowest_hosts=_slowest(totals.hosts, log),
            interrupted=log.interrupted,
            legs=log.legs,
            stalls=self._stalls,
            quota=_quota(log.quota),
            order=_order(log.order, totals),
            zone=log.zone or (before.zone if before else None),
        )


def standing(sites: Sequence[Site], log: RunLog) -> list[SiteReport]:
    """The present state of these sites, without the plan, for display."""
    return [_site_report(site, None, log) for site in sites]


def deadline_met(site: SiteReport, now: float) -> bool | None:
    """Whether a site was complete by its deadline, with pages and no host given up. None: it has no
    deadline, or it is still open."""
    if site.deadline is None:
        return None
    in_time = (now if site.finished is None else site.finished) <= (
        site.deadline + LATE_AFTER_SECONDS
    )
    if site.state == "done" or site.at_its_bound:
        return in_time and site.pages > 0 and not site.given_up
    return False if site.stopped_at_deadline or not in_time else None


def _policy(plan: Plan | None, log: RunLog) -> str:
    if log.policy:
        return log.policy
    if log.earlier is not None:
        return log.earlier.policy
    if plan is not None:
        return plan.policy
    limited = any(rate is not None for _, rate in log.budget_changes)
    return _OWN_POLICY if limited else "unlimited"


def _order(order: ScoreOrder | None, totals: _Totals) -> ScoreOrderReport | None:
    if order is None:
        return None
    return ScoreOrderReport(
        order.admission,
        order.look_ahead,
        begun=sum(queue.begun for queue in totals.queues),
        out_of_order=sum(queue.out_of_order for queue in totals.queues),
        places=sum(queue.places for queue in totals.queues),
        pages=sum(focus.pages for focus in totals.focuses),
        relevant=sum(focus.relevant for focus in totals.focuses),
    )


def _focus(before: SiteReport | None, progress: Progress) -> FocusReport | None:
    """Pages of earlier legs were judged again from what is stored; faults of their scorers are
    added."""
    earlier, now = None if before is None else before.focus, progress.focus
    if earlier is None or now is None:
        return now or earlier
    return msgspec.structs.replace(
        now, faults=earlier.faults + now.faults, trouble=now.trouble or earlier.trouble
    )


def _queue(before: SiteReport | None, progress: Progress) -> QueueTally | None:
    """The sum of all legs."""
    earlier, now = None if before is None else before.queue, progress.queue
    if earlier is None or now is None:
        return now or earlier
    return earlier + now


def _quota(use: QuotaUse | None) -> QuotaReport | None:
    if use is None:
        return None
    return QuotaReport(
        str(use.quota),
        use.quota.bytes,
        used=use.used,
        left=use.left,
        resets_at=use.resets.timestamp(),
        zone=str(use.quota.zone),
    )


def _site_report(site: Site, planned: PlannedSite | None, log: RunLog) -> SiteReport:
    before = log.earlier_sites.get(site.name)
    report = _as_it_stands(site, before, log)
    if before is not None and before.planned_end is not None:
        report = msgspec.structs.replace(
            report,
            planned_start=before.planned_start,
            planned_end=before.planned_end,
            planned_segments=before.planned_segments,
            foreseen_end=before.foreseen_end,
        )
    elif planned is not None:
        report = msgspec.structs.replace(
            report,
            planned_start=planned.start,
            planned_end=planned.end,
            planned_segments=planned.segments,
            foreseen_end=planned.foreseen,
        )
    return msgspec.structs.replace(report, met=deadline_met(report, log.seconds))


def _as_it_stands(site: Site, before: SiteReport | None, log: RunLog) -> SiteReport:
    """The state of a site without the plan; ``before`` is how an earlier leg left it."""
    progress = log.progress.get(site.name)
    if progress is None and before is None:
        return _waiting(site)
    progress = progress or Progress(site.name)
    if before is not None and progress.started is None:
        return _not_taken_up(site, before, progress, log.finished.get(site.name))
    came = log.samples.bytes_by_site.get(site.name, 0)
    given_up = {} if before is None else before.given_up
    return SiteReport(
        name=site.name,
        state=progress.state.value,
        pages=progress.pages,
        unchanged=progress.unchanged,
        fetches=progress.fetches,
        bytes=progress.payload_bytes,
        wire_bytes=max(progress.wire_bytes, came),
        errors=dict(progress.errors),
        started=log.started.get(site.name),
        finished=log.finished.get(site.name),
        deadline=site.deadline,
        met=None,
        planned_start=None,
        planned_end=None,
        reason=progress.reason if progress.state is TaskState.STOPPED else "",
        given_up={**given_up, **progress.given_up},
        robots_ignored=site.robots_ignored,
        to_do=progress.to_do,
        left_out=_left_out(progress),
        focus=_focus(before, progress),
        queue=_queue(before, progress),
        restarts=progress.restarts + (0 if before is None else before.restarts),
    )


def _waiting(site: Site) -> SiteReport:
    """A site that no leg has begun; of a hundred thousand, most for a long time."""
    return SiteReport(
        site.name, TaskState.WAITING.value, pages=0, fetches=0, bytes=0, wire_bytes=0, errors={},
        started=None, finished=None, deadline=site.deadline, met=None, planned_start=None,
        planned_end=None, robots_ignored=site.robots_ignored,
    )  # fmt: skip


def _left_out(progress: Progress) -> dict[str, LeftOut]:
    """What the frontier left out, and what a stop leaves to do."""
    left = progress.to_do if progress.state is TaskState.STOPPED else 0
    return {**progress.left_out, **left_by_stop(progress.reason, left)}


def left_by_stop(reason: str, to_do: int) -> dict[str, LeftOut]:
    """URLs that a final stop leaves unfetched are left out, too."""
    return {reason: LeftOut(to_do)} if to_do and reason in ENDS_AS_TOLD else {}


def _not_taken_up(
    site: Site, before: SiteReport, progress: Progress, finished: float | None
) -> SiteReport:
    """A site that this leg did not begin: it was settled before, is waiting, or was dropped."""
    report = msgspec.structs.replace(before, deadline=site.deadline)
    if before.settled:
        return report
    dropped = progress.state is TaskState.STOPPED
    left_out = {why: left for why, left in before.left_out.items() if why != before.reason}
    if dropped:
        left_out |= left_by_stop(progress.reason, before.to_do)
    return msgspec.structs.replace(
        report,
        state=progress.state.value,
        reason=progress.reason,
        finished=finished if dropped else None,
        left_out=left_out,
    )


def _utilisation(log: RunLog, last: float) -> float | None:
    """Wire bytes over those that the budget allowed, up to the end of the last site."""
    allowed = 0.0
    changes = [*log.budget_changes, (last, None)]
    for (start, rate), (end, _) in pairwise(changes):
        if rate is None:
            return None
        allowed += rate * max(min(end, last) - start, 0.0)
    return _came(log) / allowed if allowed > 0 and math.isfinite(allowed) else None


def _came(log: RunLog) -> int:
    """Wire bytes of all legs, including fetches that broke off."""
    return sum(log.samples.bytes_by_site.values())


def _host_figures(site: Site, log: RunLog) -> list[HostFigures]:
    """Of a site that was fetched from; none of another."""
    progress = log.progress.get(site.name)
    if progress is None or not progress.fetches or not site.seeds:
        return []
    return [
        HostFigures(
            host_of(site.seeds[0]),
            progress.fetches,
            progress.fetch_seconds / progress.fetches,
            progress.first_byte_seconds / progress.fetches,
        )
    ]


def _slowest(hosts: Sequence[HostFigures], log: RunLog) -> tuple[HostFigures, ...]:
    figures = [*hosts]
    if log.earlier is not None:  # sites that were settled then are not begun again
        known = {host.host for host in figures}
        figures += [host for host in log.earlier.slowest_hosts if host.host not in known]
    return tuple(sorted(figures, key=lambda host: -host.mean_seconds)[:_HOSTS_SHOWN])
