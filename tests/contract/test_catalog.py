"""What every catalog must do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from headgate.bandwidth.server_speed import Measure, ServerSpeed
from headgate.control.catalog import (
    Catalog,
    KeptPromise,
    Outcome,
    Run,
    Server,
    SiteState,
    Visit,
)
from headgate.model.errors import HeadgateError
from headgate.model.timetable import DayKind, LocalMoment
from headgate.storage.catalog.postgres import PostgresCatalog
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.catalog.sqlite import SqliteCatalog

Reopen = Callable[[], Catalog]
"""The same catalog as whoever opens it next finds it."""


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    if request.param == "SQLite":
        make: Callable[[], SqlCatalog] = partial(SqliteCatalog, tmp_path / "catalog.sqlite")
    else:
        make = partial(PostgresCatalog, request.getfixturevalue("postgres").new_catalog())
    with ExitStack() as opened:

        def again() -> Catalog:
            opened.close()
            return opened.enter_context(make())

        yield again


def make_visit(run: str, started: float, **changes: object) -> Visit:
    values = {
        "site": "docs", "run": run, "started": started, "finished": started + 60, "seconds": 50.0,
        "pages": 10, "payload_bytes": 140_000, "wire_bytes": 160_000, "alpha": 1.2,
        "errors": {"404": 2, "dns": 1},
    }  # fmt: skip
    return Visit(**{**values, **changes})  # type: ignore[arg-type]


def measured(rate: float, instant: float) -> ServerSpeed:
    speed = ServerSpeed()
    speed.learn(Measure(rate, 1.0), LocalMoment(720.0, DayKind.WORKING, instant))
    return speed


def test_runs_and_visits_are_there_for_the_next_run(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("first", 100.0, "{}")
    catalog.record_visits([make_visit("first", 101.0)])
    catalog.end_run("first", 200.0, Outcome.FINISHED)
    catalog.begin_run("second", 300.0, '{"crawlers": 5}')
    catalog = reopen()
    assert catalog.runs() == [
        Run("second", 300.0, None, Outcome.RUNNING, '{"crawlers": 5}'),
        Run("first", 100.0, 200.0, Outcome.FINISHED, "{}"),
    ]
    (visit,) = catalog.history("docs")
    assert visit == make_visit("first", 101.0)
    assert catalog.history("unknown") == []


def test_a_resumed_run_keeps_its_start_and_its_settings(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("run", 100.0, '{"asked": "first"}')
    catalog.end_run("run", 150.0, Outcome.INTERRUPTED)
    catalog.begin_run("run", 160.0, '{"asked": "later"}')
    (run,) = reopen().runs()
    assert run == Run("run", 100.0, None, Outcome.RUNNING, '{"asked": "first"}')


def test_the_end_of_a_run_nobody_began_is_no_run(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.end_run("unknown", 150.0, Outcome.ABANDONED)
    assert catalog.runs() == []


def test_a_visit_recorded_again_replaces_what_was_and_its_errors(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("run", 100.0, "{}")
    catalog.record_visits([make_visit("run", 101.0, complete=False)])
    whole = make_visit("run", 101.0, pages=20, errors={"500": 3})
    catalog.record_visits([whole])
    assert reopen().history("docs") == [whole]


def test_history_is_newest_first_bounded_and_of_one_site(reopen: Reopen) -> None:
    catalog = reopen()
    for number in (3, 1, 4, 0, 2):
        catalog.begin_run(f"run {number}", float(number), "{}")
        visits = [make_visit(f"run {number}", float(number), site=site) for site in ("docs", "b")]
        catalog.record_visits(visits)
    assert [visit.run for visit in catalog.history("docs", limit=2)] == ["run 4", "run 3"]
    assert len(catalog.history("docs")) == 5


def test_visits_of_a_run_never_begun_are_refused_all_or_none(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("run", 1.0, "{}")
    with pytest.raises(HeadgateError):
        catalog.record_visits([make_visit("run", 1.0), make_visit("unknown", 1.0)])
    assert catalog.history("docs") == []


def test_line_use_adds_up_by_slot_over_all_runs(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.add_line_use({7: 100, 9: 5})
    catalog.add_line_use({})
    catalog = reopen()
    catalog.add_line_use({7: 11, 6: 1})
    assert catalog.line_use(0) == {6: 1, 7: 111, 9: 5}
    assert catalog.line_use(7) == {7: 111, 9: 5}, "the first slot is one of them"
    assert catalog.line_use(8) == {9: 5}


def test_servers_are_kept_by_address_and_found_by_host(reopen: Reopen) -> None:
    noon = LocalMoment(720.0, DayKind.WORKING)
    catalog = reopen()
    old = Server("192.0.2.1", ("docs.example", "www.example"), measured(1e5, 10.0))
    moved = Server("192.0.2.2", ("docs.example",), measured(3e5, 20.0))
    catalog.record_servers([old, moved])
    catalog.record_servers([Server("192.0.2.1", ("api.example",), measured(2e5, 15.0))])
    catalog = reopen()
    assert catalog.address("docs.example") == "192.0.2.2"
    assert catalog.address("www.example") == "192.0.2.1"
    assert catalog.address("unknown.example") is None
    assert catalog.server("192.0.2.9") is None
    kept = catalog.server("192.0.2.1")
    assert kept is not None
    assert kept.rate(noon) == pytest.approx(2e5)
    assert [(server.address, server.hosts) for server in catalog.servers()] == [
        ("192.0.2.2", ("docs.example",)),
        ("192.0.2.1", ("api.example", "docs.example", "www.example")),
    ]


def test_what_was_recorded_of_a_server_stands_while_its_measurer_learns_on(reopen: Reopen) -> None:
    catalog = reopen()
    speed = measured(1e5, 10.0)
    catalog.record_servers([Server("192.0.2.1", (), speed)])
    speed.learn(Measure(9e5, 1.0), LocalMoment(720.0, DayKind.WORKING, 20.0))
    kept = catalog.server("192.0.2.1")
    assert kept is not None
    assert kept.measures == 1


def test_a_run_may_visit_a_site_again_and_again(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("volume", 100.0, "{}")
    visits = [make_visit("volume", 100.0 + number, visit=number) for number in (1, 2, 3)]
    catalog.record_visits(visits)
    catalog.record_visits([make_visit("volume", 102.0, visit=2, errors={"dns": 7}, changed=4)])
    catalog = reopen()
    found = catalog.history("docs")
    assert [visit.visit for visit in found] == [3, 2, 1]
    assert (found[1].errors, found[1].changed) == ({"dns": 7}, 4)
    assert [(visit.visit, visit.changed) for visit in catalog.visits_of("volume")] == [
        (1, 0), (2, 4), (3, 0),
    ]  # fmt: skip
    assert catalog.visits_of("another") == []
    assert found[2].errors == {"404": 2, "dns": 1}


def test_a_kept_visit_leaves_its_site_and_its_promise(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("volume", 100.0, "{}")
    state = SiteState(
        "docs",
        7,
        asked=150.0,
        outlook=b"curve",
        costs=(6e3, 500.0, 0.2),
        paused_until=900.0,
        down=1,
        suspicions=2,
        trouble="down",
        trouble_since=140.0,
    )
    promise = KeptPromise("docs", 160.0, 150.0)
    catalog.record_kept(make_visit("volume", 140.0, visit=7, why="promise"), state, promise)
    catalog.put_site_state(SiteState("wiki", 1, 10.0))
    catalog = reopen()
    assert catalog.site_states() == {"docs": state, "wiki": SiteState("wiki", 1, 10.0)}
    assert catalog.promises(0.0) == [promise]
    assert promise.late_seconds == 0.0
    assert KeptPromise("docs", 100.0, 150.0).late_seconds == 50.0
    assert catalog.history("docs")[0].why == "promise"


def test_a_visit_that_cannot_be_recorded_leaves_nothing(reopen: Reopen) -> None:
    catalog = reopen()
    with pytest.raises(HeadgateError):
        catalog.record_kept(make_visit("nobody's", 1.0), SiteState("docs", 1, 1.0), None)
    assert reopen().site_states() == {}


def test_what_is_old_is_forgotten(reopen: Reopen) -> None:
    catalog = reopen()
    catalog.begin_run("volume", 100.0, "{}")
    for due in (1_000.0, 9_000.0):
        state = SiteState("docs", 1, due)
        promise = KeptPromise("docs", due, due)
        catalog.record_kept(make_visit("volume", due), state, promise)
    catalog.add_line_use({0: 5, 9: 6, 10: 7})
    catalog.forget_before(9_000.0)
    catalog = reopen()
    assert [promise.due for promise in catalog.promises(0.0)] == [9_000.0]
    assert catalog.line_use(0) == {10: 7}


def test_visits_of_a_keeper_are_forgotten_with_volumes_that_ended_long_ago(reopen: Reopen) -> None:
    """Not those of a crawl, of a volume that is not sealed, nor the last to a site."""
    catalog = reopen()
    for stamp, ended in (("crawl", 50.0), ("old", 100.0), ("new", 500.0), ("open", None)):
        catalog.begin_run(stamp, 1.0, "{}")
        if ended is not None:
            catalog.end_run(stamp, ended, Outcome.FINISHED)
    catalog.record_visits([make_visit("crawl", 10.0)])
    made = [("old", 1), ("old", 2), ("open", 3), ("new", 4), ("new", 5)]
    for at, (run, number) in enumerate(made):
        visit = make_visit(run, 20.0 + at, visit=number, errors={"404": 2})
        catalog.record_kept(visit, SiteState("docs", number, 20.0 + at), None)
    once = make_visit("old", 15.0, site="seldom", visit=1, errors={})
    catalog.record_kept(once, SiteState("seldom", 1, 15.0), None)
    catalog.forget_before(300.0)
    catalog = reopen()
    left = [(visit.run, visit.visit) for visit in catalog.history("docs")]
    assert left == [("new", 5), ("new", 4), ("open", 3), ("crawl", 0)]
    assert all(visit.errors == {"404": 2} for visit in catalog.history("docs")[:3])
    assert [(visit.run, visit.visit) for visit in catalog.history("seldom")] == [("old", 1)]
    assert catalog.visits_of("old") == [once]
