from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headgate.model.errors import WorldFault
from headgate.storage.catalog import Catalog, Outcome, Run, ServerSpeed, Visit


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


def test_the_newest_speed_of_a_server_stands(tmp_path: Path) -> None:
    with Catalog(tmp_path / "catalog.sqlite") as catalog:
        newer, older = ServerSpeed("a", 2.0, 5e5, 0.1), ServerSpeed("a", 1.0, 1e5, 0.3)
        catalog.record_speeds([newer, ServerSpeed("b", 1.0, 2e5, 0.2)])
        catalog.record_speeds([older])
        assert catalog.speed("a") == newer
        assert catalog.speed("c") is None


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
