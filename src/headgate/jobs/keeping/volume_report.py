"""The report of a volume: the sum of each site's visits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from headgate.control.catalog import Visit
from headgate.model.run_report import RunReport, SiteReport

__all__ = ["volume_report"]


def volume_report(stamp: str, started: float, visits: Sequence[Visit]) -> RunReport:
    """``visits`` in the order of their sites."""
    end = max((visit.finished for visit in visits), default=started)
    seconds = max(end - started, 0.0)
    sites = tuple(
        _site(name, list(theirs), started) for name, theirs in groupby(visits, attrgetter("site"))
    )
    wire_bytes = sum(visit.wire_bytes for visit in visits)
    return RunReport(
        stamp=stamp,
        started_at=started,
        seconds=seconds,
        policy="keep",
        budget=None,
        budget_changes=(),
        crawlers=1,
        pages=sum(visit.pages for visit in visits),
        unchanged=sum(visit.same for visit in visits),
        bytes=sum(visit.payload_bytes for visit in visits),
        wire_bytes=wire_bytes,
        mean_rate=wire_bytes / seconds if seconds else 0.0,
        peak_rate_1s=None,
        utilisation=None,
        sites=sites,
        timeline=(),
    )


def _site(name: str, visits: Sequence[Visit], started: float) -> SiteReport:
    first, last = visits[0], visits[-1]
    return SiteReport(
        name=name,
        state="done" if last.complete else "stopped",
        pages=_sum(visit.pages for visit in visits),
        unchanged=_sum(visit.same for visit in visits),
        fetches=_sum(visit.asked for visit in visits),
        bytes=_sum(visit.payload_bytes for visit in visits),
        wire_bytes=_sum(visit.wire_bytes for visit in visits),
        errors={},
        started=max(first.started - started, 0.0),
        finished=max(last.finished - started, 0.0),
        deadline=None,
        met=None,
        planned_start=None,
        planned_end=None,
    )


def _sum(counts: Iterable[int]) -> int:
    return sum(counts)
