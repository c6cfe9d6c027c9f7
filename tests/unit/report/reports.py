"""Reports made by rule: a plan, and a run that follows it as unevenly as runs do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from headgate.model.budget import Budget
from headgate.model.plan import Plan, PlannedSite
from headgate.model.run_report import HostFigures, RunReport, SiteReport, TimelinePoint
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.scheduling.planner import plan

__all__ = ["SITE", "make_run_report", "simple_report"]

NOON = 1_794_744_000.0
SITE = SiteReport(
    name="docs",
    state="done",
    pages=10,
    fetches=12,
    bytes=900_000,
    wire_bytes=1_000_000,
    errors={},
    started=0.0,
    finished=10.0,
    deadline=None,
    met=None,
    planned_start=0.0,
    planned_end=10.0,
)


def simple_report(*sites: SiteReport, **changes: object) -> RunReport:
    """Ten seconds at 100 KB/s, all of it the first site's."""
    shown = sites or (SITE,)
    report = RunReport(
        stamp="2026-11-15T12-00-00",
        started_at=NOON,
        seconds=10.0,
        policy="headgate",
        budget=100_000.0,
        budget_changes=((0.0, 100_000.0),),
        crawlers=5,
        pages=sum(site.pages for site in shown),
        bytes=sum(site.bytes for site in shown),
        wire_bytes=sum(site.wire_bytes for site in shown),
        mean_rate=98_700.0,
        peak_rate_1s=102_000.0,
        utilisation=0.987,
        sites=shown,
        timeline=tuple(
            TimelinePoint(float(second), {shown[0].name: 98_700}) for second in range(1, 11)
        ),
    )
    return msgspec.structs.replace(report, **changes)


def make_run_report(
    count: int, seconds: float, *, seed: int = 1, names: Sequence[str] = (), late: bool = False
) -> RunReport:
    """A run of so many sites that takes about so long; ``late``: slower than planned."""
    generator = np.random.default_rng(seed)
    budget = 1_000_000.0
    planned = _planned(generator, count, seconds, budget, names)
    slowness = 1.25 if late else 1.0
    sites = tuple(
        _site(generator, place, site, slowness) for place, site in enumerate(planned.sites)
    )
    end = max(site.finished or 0.0 for site in sites)
    timeline = _timeline(generator, planned, end, slowness)
    wire_bytes = sum(sum(point.bytes.values()) for point in timeline)
    return RunReport(
        stamp="2026-11-15T12-00-00",
        started_at=NOON,
        seconds=end,
        policy=planned.policy,
        budget=budget,
        budget_changes=((0.0, budget),),
        crawlers=planned.budget.crawlers,
        pages=sum(site.pages for site in sites),
        bytes=sum(site.bytes for site in sites),
        wire_bytes=wire_bytes,
        mean_rate=wire_bytes / end,
        peak_rate_1s=1_020_000.0,
        utilisation=wire_bytes / (budget * end),
        sites=sites,
        timeline=timeline,
        slowest_hosts=tuple(
            HostFigures(f"www.{site.name}.example", site.fetches, 2.0 / k, 0.9 / k)
            for k, site in enumerate(sites[:8], 1)
        ),
    )


def _planned(
    generator: np.random.Generator, count: int, seconds: float, budget: float, names: Sequence[str]
) -> Plan:
    shares = generator.uniform(0.2, 1.8, count)
    sizes = shares / shares.sum() * budget * seconds * 0.97
    order = np.cumsum(generator.permutation(sizes)) / budget
    sites = [
        Site(
            names[k] if k < len(names) else f"site-{k + 1:02d}",
            expect=Bytes(float(sizes[k])),
            deadline=Seconds(float(order[k]) * 1.2 + seconds / 8) if k % 5 != 3 else None,
            max_rate=BytesPerSecond(budget * (0.5 if k % 2 else 0.25)) if count > 1 else None,
        )
        for k in range(count)
    ]
    return plan(sites, Budget(BytesPerSecond(budget), crawlers=5))


def _site(
    generator: np.random.Generator, place: int, planned: PlannedSite, slowness: float
) -> SiteReport:
    started = planned.start * slowness
    finished = planned.end * slowness * float(generator.uniform(0.97, 1.03))
    pages = int(planned.bytes / 20_000) + 1
    errors = {"404": place % 7, "500": place % 3, "closed": int(place % 4 == 2), "dns": 0}
    return SiteReport(
        name=planned.name,
        state="done",
        pages=pages,
        fetches=pages + 3,
        bytes=int(planned.bytes * 0.96),
        wire_bytes=int(planned.bytes),
        errors={kind: times for kind, times in errors.items() if times},
        started=started,
        finished=finished,
        deadline=planned.deadline,
        met=None if planned.deadline is None else finished <= planned.deadline,
        planned_start=planned.start,
        planned_end=planned.end,
        planned_segments=planned.segments,
        given_up={f"old.{planned.name}.example": "7 network failures in a row, last: refused"}
        if place % 9 == 5
        else {},
    )


def _timeline(
    generator: np.random.Generator, planned: Plan, end: float, slowness: float
) -> tuple[TimelinePoint, ...]:
    """Some thousand points at the most, a second or more apart, as the crawler notes them."""
    step = max(1.0, end / 1500)
    moments = [*np.arange(step, end, step).tolist(), end]
    before = 0.0
    points = []
    for moment in moments:
        came = {
            site.name: int(amount * float(generator.uniform(0.96, 1.02)))
            for site in planned.sites
            if (amount := _amount(site, before / slowness, moment / slowness)) > 0
        }
        points.append(TimelinePoint(moment, came))
        before = moment
    return tuple(points)


def _amount(site: PlannedSite, start: float, end: float) -> float:
    return sum(
        segment.rate * max(min(segment.end, end) - max(segment.start, start), 0.0)
        for segment in site.segments
    )
