from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headgate.control.catalog import Server, SiteState, Visit
from headgate.model.errors import DamagedFile, WorldFault
from headgate.model.local_time import DayKind, LocalMoment
from headgate.storage.sqlite_catalog import SqliteCatalog
from headgate.traffic.server_speed import Measure, ServerSpeed


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


def test_estimates_that_are_not_ours_are_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with SqliteCatalog(path) as catalog:
        catalog.record_servers([Server("192.0.2.1", (), measured(1e5, 10.0))])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE servers SET estimates = x'00'")
    with SqliteCatalog(path) as catalog:
        assert catalog.server("192.0.2.1") is None
        assert catalog.servers() == []


def test_a_catalog_of_the_first_layout_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with SqliteCatalog(path) as catalog:
        catalog.begin_run("run", 1.0, "{}")
    with sqlite3.connect(path) as db:
        db.executescript("DROP TABLE server_hosts; DROP TABLE servers; PRAGMA user_version = 1;")
    with SqliteCatalog(path) as catalog:
        assert catalog.servers() == []
        assert [run.stamp for run in catalog.runs()] == ["run"]


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


_VISITS_4 = """
DROP TABLE visit_errors; DROP TABLE visits; DROP TABLE site_state; DROP TABLE promises;
CREATE TABLE visits (
    site TEXT NOT NULL REFERENCES sites (name), run TEXT NOT NULL REFERENCES runs (stamp),
    started REAL NOT NULL, finished REAL NOT NULL, seconds REAL NOT NULL, pages INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL, wire_bytes INTEGER NOT NULL, alpha REAL,
    complete INTEGER NOT NULL, PRIMARY KEY (site, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE visit_errors (
    site TEXT NOT NULL, run TEXT NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (site, run, kind), FOREIGN KEY (site, run) REFERENCES visits (site, run)
) STRICT, WITHOUT ROWID;
INSERT INTO runs (stamp, started, settings) VALUES ('old', 1.0, '{}');
INSERT INTO sites VALUES ('docs', 'old', 'old');
INSERT INTO visits VALUES ('docs', 'old', 1.0, 2.0, 1.0, 3, 4, 5, NULL, 1);
INSERT INTO visit_errors VALUES ('docs', 'old', '404', 6);
PRAGMA user_version = 4;
"""


def test_a_catalog_of_version_4_keeps_its_visits(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    SqliteCatalog(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_VISITS_4)
    with SqliteCatalog(path) as catalog:
        (visit,) = catalog.history("docs")
        assert (visit.run, visit.visit, visit.wire_bytes, visit.errors) == ("old", 0, 5, {"404": 6})
        again = dataclasses.replace(visit, visit=1)
        catalog.record_kept(again, SiteState("docs", 1, 1.0), None)
    with SqliteCatalog(path) as catalog:
        assert [visit.visit for visit in catalog.history("docs")] == [1, 0]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
