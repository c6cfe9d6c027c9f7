from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headgate.model.errors import WorldFault
from headgate.model.local_time import DayKind, LocalMoment
from headgate.storage.catalog import Catalog, Outcome, Run, Server, Visit
from headgate.traffic.server_speed import Measure, ServerSpeed


def make_visit(run: str, started: float, **changes: object) -> Visit:
    values = {
        "site": "docs", "run": run, "started": started, "finished": started + 60, "seconds": 50.0,
        "pages": 10, "payload_bytes": 140_000, "wire_bytes": 160_000, "alpha": 1.2,
        "errors": {"404": 2, "dns": 1},
    }  # fmt: skip
    return Visit(**{**values, **changes})  # type: ignore[arg-type]


def test_runs_and_visits_survive_closing(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with Catalog(path) as catalog:
        catalog.begin_run("first", 100.0, "{}")
        catalog.record_visit(make_visit("first", 101.0))
        catalog.end_run("first", 200.0, Outcome.FINISHED)
        catalog.begin_run("second", 300.0, '{"crawlers": 5}')
    with Catalog(path) as catalog:
        assert catalog.runs() == [
            Run("second", 300.0, None, Outcome.RUNNING, '{"crawlers": 5}'),
            Run("first", 100.0, 200.0, Outcome.FINISHED, "{}"),
        ]
        assert catalog.sites() == ["docs"]
        (visit,) = catalog.history("docs")
        assert visit == make_visit("first", 101.0)
        assert visit.mean_page_bytes == 14_000
        assert catalog.history("unknown") == []


def test_a_resumed_visit_replaces_what_was_recorded(tmp_path: Path) -> None:
    with Catalog(tmp_path / "catalog.sqlite") as catalog:
        catalog.begin_run("run", 100.0, "{}")
        catalog.record_visit(make_visit("run", 101.0, complete=False))
        catalog.end_run("run", 150.0, Outcome.INTERRUPTED)
        catalog.begin_run("run", 160.0, "{}")
        whole = make_visit("run", 101.0, pages=20, errors={"404": 3})
        catalog.record_visit(whole)
        assert catalog.history("docs") == [whole]
        assert catalog.runs() == [Run("run", 100.0, None, Outcome.RUNNING, "{}")]


def test_history_is_newest_first_and_bounded(tmp_path: Path) -> None:
    with Catalog(tmp_path / "catalog.sqlite") as catalog:
        for number in range(5):
            catalog.begin_run(f"run {number}", float(number), "{}")
            catalog.record_visit(make_visit(f"run {number}", float(number), alpha=None))
        assert [visit.run for visit in catalog.history("docs", limit=2)] == ["run 4", "run 3"]


def measured(rate: float, instant: float) -> ServerSpeed:
    speed = ServerSpeed()
    speed.learn(Measure(rate, 1.0), LocalMoment(720.0, DayKind.WORKING, instant))
    return speed


def test_servers_are_kept_by_address_and_found_by_host(tmp_path: Path) -> None:
    noon = LocalMoment(720.0, DayKind.WORKING)
    path = tmp_path / "catalog.sqlite"
    with Catalog(path) as catalog:
        old = Server("192.0.2.1", ("docs.example", "www.example"), measured(1e5, 10.0))
        moved = Server("192.0.2.2", ("docs.example",), measured(3e5, 20.0))
        catalog.record_servers([old, moved])
        catalog.record_servers([Server("192.0.2.1", ("api.example",), measured(2e5, 15.0))])
    with Catalog(path) as catalog:
        assert catalog.address("docs.example") == "192.0.2.2"
        assert catalog.address("www.example") == "192.0.2.1"
        assert catalog.address("unknown.example") is None
        kept = catalog.server("192.0.2.1")
        assert kept is not None
        assert kept.rate(noon) == pytest.approx(2e5)
        assert [(server.address, server.hosts) for server in catalog.servers()] == [
            ("192.0.2.2", ("docs.example",)),
            ("192.0.2.1", ("api.example", "docs.example", "www.example")),
        ]


def test_estimates_that_are_not_ours_are_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with Catalog(path) as catalog:
        catalog.record_servers([Server("192.0.2.1", (), measured(1e5, 10.0))])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE servers SET estimates = x'00'")
    with Catalog(path) as catalog:
        assert catalog.server("192.0.2.1") is None
        assert catalog.servers() == []


def test_a_catalog_of_the_first_layout_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with Catalog(path) as catalog:
        catalog.begin_run("run", 1.0, "{}")
    with sqlite3.connect(path) as db:
        db.executescript("DROP TABLE server_hosts; DROP TABLE servers; PRAGMA user_version = 1;")
    with Catalog(path) as catalog:
        assert catalog.servers() == []
        assert [run.stamp for run in catalog.runs()] == ["run"]


def test_a_visit_of_a_run_never_begun_is_refused(tmp_path: Path) -> None:
    with Catalog(tmp_path / "catalog.sqlite") as catalog:
        with pytest.raises(sqlite3.IntegrityError):
            catalog.record_visit(make_visit("unknown", 1.0))
        assert catalog.sites() == []


def test_a_file_that_is_no_catalog_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(WorldFault, match=r"catalog.sqlite: file is not a database"):
        Catalog(path)


def test_a_catalog_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    Catalog(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(WorldFault, match="newer Headgate"):
        Catalog(path)
