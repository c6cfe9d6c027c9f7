from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from bench.postgres import Postgres
from msgspec import structs
from tests.contract.test_catalog import make_visit, measured

from headgate.control.catalog import Outcome, Server, SiteState
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.scheduler.records import NewTask
from headgate.model.errors import DamagedFile, UserMistake, WorldFault
from headgate.storage.catalog.postgres import PostgresCatalog, PostgresDatabase
from headgate.storage.catalog.sql_catalog import VERSION, steps_after
from headgate.storage.catalog.sqlite import SqliteCatalog


def test_estimates_that_are_not_ours_are_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with SqliteCatalog(path) as catalog:
        catalog.record_servers([Server("192.0.2.1", (), measured(1e5, 10.0))])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE servers SET estimates = x'00'")
    with SqliteCatalog(path) as catalog:
        assert catalog.server("192.0.2.1") is None
        assert catalog.servers() == []


def test_a_visit_of_a_run_never_begun_is_refused(tmp_path: Path) -> None:
    with SqliteCatalog(tmp_path / "catalog.sqlite") as catalog:
        with pytest.raises(DamagedFile, match="FOREIGN KEY"):
            catalog.record_visits([make_visit("unknown", 1.0)])
        assert catalog.history("docs") == []


def test_a_file_that_is_no_catalog_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(DamagedFile, match=r"catalog.sqlite is damaged \(file is not a database\)"):
        SqliteCatalog(path)


def test_a_catalog_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    SqliteCatalog(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(WorldFault, match="newer Headgate"):
        SqliteCatalog(path)


_ROWS = """
INSERT INTO runs (stamp, started, outcome, settings) VALUES ('old', 1.0, 'interrupted', '{}');
INSERT INTO sites VALUES ('docs', 'old', 'old');
INSERT INTO visits (site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha,
    complete) VALUES ('docs', 'old', 1.0, 2.0, 1.0, 3, 4, 5, NULL, 1);
INSERT INTO visit_errors (site, run, kind, count) VALUES ('docs', 'old', '404', 6);
"""
"""That every version can hold."""


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_catalog_of_any_earlier_version_is_brought_up_to_date(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "catalog.sqlite"
    steps = steps_after("sqlite", 0)[:version]
    with closing(sqlite3.connect(path)) as db:
        db.executescript("\n".join((*steps, _ROWS, f"PRAGMA user_version = {version};")))
    with SqliteCatalog(path) as catalog:
        (visit,) = catalog.history("docs")
        assert (visit.run, visit.visit, visit.wire_bytes, visit.errors) == ("old", 0, 5, {"404": 6})
        again = structs.replace(visit, visit=1)
        catalog.record_kept(again, SiteState("docs", 1, 1.0), None)
        catalog.record_servers([Server("192.0.2.1", ("docs.example",), measured(1e5, 10.0))])
        catalog.add_line_use({1: 5})
        catalog.end_run("old", 9.0, Outcome.ABANDONED)
        board = SqlBoard(catalog.database)
        board.add_tasks([NewTask(run="old", site="docs", host="h", spec=b"{}")])
    with SqliteCatalog(path) as catalog:
        assert [visit.visit for visit in catalog.history("docs")] == [1, 0]
        assert [run.outcome for run in catalog.runs()] == [Outcome.ABANDONED]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master")]
        assert not [name for name in tables if "_3" in name or "_4" in name], "all moved in"


def test_both_dialects_have_the_same_tables_and_columns(tmp_path: Path, postgres: Postgres) -> None:
    with SqliteCatalog(tmp_path / "catalog.sqlite"):
        pass
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        ours = {
            name: {row[1] for row in db.execute(f"PRAGMA table_info({name})")} for name in tables
        }
    url = postgres.new_catalog()
    PostgresCatalog(url).close()
    with psycopg.connect(url) as other:
        rows = other.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND table_name <> 'headgate'"
        )
        theirs: dict[str, set[str]] = {}
        for table, column in rows:
            theirs.setdefault(table, set()).add(column)
    assert theirs == ours


def test_a_catalog_in_postgresql_of_the_version_before_is_brought_up_to_date(
    postgres: Postgres,
) -> None:
    url, first = postgres.new_catalog(), steps_after("postgresql", 0)[0]
    with psycopg.connect(url) as db:
        db.execute(first.encode())
        db.execute("CREATE TABLE headgate (version BIGINT NOT NULL)")
        db.execute("INSERT INTO headgate (version) VALUES (6)")
        db.execute(
            "INSERT INTO runs (stamp, started, outcome, settings)"
            " VALUES ('old', 1, 'interrupted', '')"
        )
        db.execute(
            "INSERT INTO tasks (run, site, part, host, visit, spec, value, expected_bytes,"
            " expected_seconds, nodes_at_once, lost)"
            " VALUES ('old', 'a', '', 'h', 0, '', 0, 0, 0, 1, 2)"
        )
    catalog = PostgresCatalog(url)
    board = SqlBoard(catalog.database)
    assert [task.site for task in board.tasks("old")] == ["a"]
    assert board.losses("old") == (2, 0.0)
    catalog.close()


def test_a_catalog_that_is_away_or_misnamed_is_told_in_one_line(postgres: Postgres) -> None:
    with pytest.raises(WorldFault, match=r"cannot reach the catalog postgresql://me@.*/nowhere"):
        PostgresCatalog("postgresql://me:secret@/postgres?host=/nowhere")
    with pytest.raises(UserMistake, match="is not understood"):
        PostgresCatalog("postgresql://?nonsense=1")
    url = postgres.new_catalog()
    PostgresCatalog(url).close()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE headgate SET version = 99")
    with pytest.raises(WorldFault, match="newer Headgate"):
        PostgresCatalog(url)


def test_one_manager_holds_a_catalog_until_its_connection_ends(postgres: Postgres) -> None:
    url = postgres.new_catalog()
    first, second = PostgresDatabase(url), PostgresDatabase(url)
    other = PostgresDatabase(postgres.new_catalog())
    assert first.hold()
    assert other.hold(), "another catalog is another's"
    assert not second.hold()
    first.close()
    while not second.hold():  # the server notices a moment later
        time.sleep(0.01)
    second.close()
    other.close()
