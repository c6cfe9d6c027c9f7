"""What the catalog is told of a run's visits: each site's own time, and none of it twice."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headgate.engine.wrapping_up import record_visits, reported_visit
from headgate.model.run_report import RunReport, SiteReport
from headgate.storage.catalog.sqlite import SqliteCatalog

SITE = SiteReport(
    "docs", "done", pages=10, fetches=12, bytes=1000, wire_bytes=1500, errors={"404": 2},
    started=20.0, finished=80.0, deadline=None, met=None, planned_start=None, planned_end=None,
)  # fmt: skip
REPORT = RunReport(
    "run", started_at=5000.0, seconds=100.0, policy="", budget=None, budget_changes=(), crawlers=1,
    pages=10, bytes=1000, wire_bytes=1500, mean_rate=15.0, peak_rate_1s=None, utilisation=None,
    sites=(SITE,), timeline=(),
)  # fmt: skip


def test_a_visit_is_as_long_as_the_site_was_crawled() -> None:
    visit = reported_visit(REPORT, SITE, 5100.0)
    assert (visit.started, visit.finished, visit.seconds) == (5020.0, 5080.0, 60.0)
    assert (visit.pages, visit.payload_bytes, visit.wire_bytes) == (10, 1000, 1500)
    assert visit.complete


def test_a_site_that_was_stopped_or_given_up_is_not_complete() -> None:
    stopped = msgspec.structs.replace(SITE, state="stopped", finished=None)
    assert not reported_visit(REPORT, stopped, 5100.0).complete
    assert reported_visit(REPORT, stopped, 5100.0).seconds == 80.0
    given_up = msgspec.structs.replace(SITE, given_up={"docs.example": "refused"})
    assert not reported_visit(REPORT, given_up, 5100.0).complete


def test_a_visit_told_of_when_it_ended_stands_and_one_never_begun_is_none() -> None:
    never = msgspec.structs.replace(SITE, name="never", fetches=0)
    fresh = msgspec.structs.replace(SITE, name="fresh", pages=3)
    report = msgspec.structs.replace(REPORT, sites=(SITE, never, fresh))
    with SqliteCatalog(Path(":memory:")) as catalog:
        catalog.begin_run("run", 5000.0, "{}")
        catalog.record_visits(
            [reported_visit(REPORT, msgspec.structs.replace(SITE, pages=99), 5100.0)]
        )
        record_visits(catalog, report, 5100.0, {"fresh": reported_visit(REPORT, fresh, 5100.0)})
        assert [visit.pages for visit in catalog.history("docs")] == [99]
        assert catalog.history("never") == []
        assert [visit.pages for visit in catalog.history("fresh")] == [3]
