"""The catalog in SQLite, in WAL mode: the adapter of `headgate.control.catalog.Catalog`.

Writing is rare (a few rows per visit), so every change is
made durable at once; readers such as a dashboard never wait for it. One thread at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from headgate.control.catalog import KeptPromise, Outcome, Run, Server, SiteState, Visit
from headgate.model.errors import DamagedFile, HeadgateError, WorldFault
from headgate.storage.faults import writing
from headgate.storage.own_files import refuse_strange
from headgate.storage.queries import load_queries
from headgate.traffic.server_speed import ServerSpeed

__all__ = ["SqliteCatalog"]

_VERSION = 5
_WAIT_SECONDS = 10.0
_OF_THE_DISK = frozenset((
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS,
))  # fmt: skip
"""Reasons that say nothing about what is in the file."""
_MOST = 2.0**60
"""Of anything that is counted."""
_QUERIES = load_queries("catalog.sql")


_VISIT_KEY = ("site", "run", "visit")
_VISIT_COLUMNS = tuple(column.name for column in fields(Visit) if column.name != "errors")


_COSTS = ("connection_bytes", "request_bytes", "look_seconds")
_STATE_COLUMNS = tuple(column.name for column in fields(SiteState) if column.name != "costs")


class SqliteCatalog:
    """Opened on a file, which is made if it is not there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        for name in ("", "-journal", "-wal", "-shm"):
            refuse_strange(path.with_name(path.name + name))
        with writing(path):
            self._db = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
            self._db.row_factory = sqlite3.Row
        try:
            with writing(path), self._sound():
                self._lay_out()
        except HeadgateError:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def begin_run(self, stamp: str, started: float, settings: str) -> None:
        """A run starts, or goes on after an interruption."""
        with self._changing() as db:
            values = {"stamp": stamp, "started": started, "settings": settings}
            db.execute(_QUERIES["begin_run"], values)

    def end_run(self, stamp: str, finished: float, outcome: Outcome) -> None:
        with self._changing() as db:
            values = {"stamp": stamp, "finished": finished, "outcome": outcome.value}
            db.execute(_QUERIES["end_run"], values)

    def runs(self) -> list[Run]:
        """The newest first."""
        with self._sound():
            rows = self._db.execute(_QUERIES["runs"])
            return [Run(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]

    def record_visits(self, visits: Iterable[Visit]) -> None:
        """Of a run that was begun here, all or none; replaces what was recorded of the same visits
        before."""
        with self._changing() as db:
            for visit in visits:
                _record_visit(db, visit)

    def record_kept(self, visit: Visit, state: SiteState, promise: KeptPromise | None) -> None:
        """A keeper's visit, what it leaves of the site, and the promise that it settled: all or
        none."""
        with self._changing() as db:
            _record_visit(db, visit)
            _put_state(db, state)
            if promise is not None:
                values = {"site": promise.site, "due": promise.due, "settled": promise.settled}
                db.execute(_QUERIES["settle_promise"], values)

    def put_site_state(self, state: SiteState) -> None:
        with self._changing() as db:
            _put_state(db, state)

    def site_states(self) -> dict[str, SiteState]:
        """By site."""
        with self._sound():
            return {row["site"]: _state(row) for row in self._db.execute(_QUERIES["site_states"])}

    def promises(self, since: float) -> list[KeptPromise]:
        """Settled since then, the oldest first."""
        with self._sound():
            rows = self._db.execute(_QUERIES["promises"], {"since": since})
            return [KeptPromise(*row) for row in rows]

    def forget_before(self, moment: float) -> None:
        """Promises and line use that are older."""
        with self._changing() as db:
            db.execute(_QUERIES["forget_promises"], {"moment": moment})
            db.execute(_QUERIES["forget_line_use"], {"moment": moment})

    def history(self, site: str, limit: int = 10) -> list[Visit]:
        """The last visits to a site, the newest first."""
        with self._sound():
            rows = self._db.execute(_QUERIES["history"], {"site": site, "limit": limit}).fetchall()
            return [_checked(Visit(**{**row, **self._details(row)})) for row in rows]

    def visits_of(self, run: str) -> list[Visit]:
        """All that a run recorded, in the order of sites and numbers; without their errors."""
        with self._sound():
            rows = self._db.execute(_QUERIES["visits_of"], {"run": run})
            return [_checked(Visit(**{**row, "complete": bool(row["complete"])})) for row in rows]

    def add_line_use(self, bytes_by_slot: Mapping[int, int]) -> None:
        """What came over the line since the last time, by quarter of an hour."""
        rows = [{"slot": slot, "bytes": bytes_} for slot, bytes_ in bytes_by_slot.items()]
        with self._changing() as db:
            db.executemany(_QUERIES["add_line_use"], rows)

    def line_use(self, first: int) -> dict[int, int]:
        """Bytes by quarter of an hour, from the quarter ``first`` on."""
        with self._sound():
            rows = self._db.execute(_QUERIES["line_use"], {"first": first})
            return {row["slot"]: int(_amount(row["bytes"])) for row in rows}

    def record_servers(self, servers: Iterable[Server]) -> None:
        """As known now, in place of what was; hosts are added to those an address had."""
        with self._changing() as db:
            for server in servers:
                speed = server.speed
                values = {
                    "address": server.address, "measured": speed.latest,
                    "measures": speed.measures, "estimates": speed.encode(),
                }  # fmt: skip
                db.execute(_QUERIES["record_server"], values)
                seen = {"address": server.address, "seen": speed.latest}
                hosts = [{**seen, "host": host} for host in server.hosts]
                db.executemany(_QUERIES["record_host"], hosts)

    def server(self, address: str) -> ServerSpeed | None:
        """What is known of an address; None: nothing."""
        with self._sound():
            row = self._db.execute(_QUERIES["server"], {"address": address}).fetchone()
            return None if row is None else _speed(row)

    def address(self, host: str) -> str | None:
        """Where a host was found last; None: it never was."""
        with self._sound():
            row = self._db.execute(_QUERIES["address"], {"host": host}).fetchone()
            return None if row is None else str(row["address"])

    def servers(self) -> list[Server]:
        """All of them, the last measured first."""
        with self._sound():
            rows = self._db.execute(_QUERIES["servers"])
            grouped = (list(group) for _, group in groupby(rows, key=itemgetter("address")))
            return [
                Server(rows[0]["address"], tuple(row["host"] for row in rows if row["host"]), speed)
                for rows in grouped
                if (speed := _speed(rows[0])) is not None
            ]

    def _details(self, visit: sqlite3.Row) -> dict[str, Any]:
        """What the table of visits cannot say in one row."""
        key = {name: visit[name] for name in _VISIT_KEY}
        errors = self._db.execute(_QUERIES["errors"], key)
        return {"complete": bool(visit["complete"]), "errors": dict(tuple(row) for row in errors)}

    def _lay_out(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA trusted_schema = OFF")
        (found,) = self._db.execute(_QUERIES["version"]).fetchone()
        if found > _VERSION:
            raise WorldFault(f"{self._path} was made by a newer Headgate; use that one")
        if self._db.execute(_QUERIES["foreign"]).fetchone() is not None:
            raise ValueError("it holds triggers or views")
        if found < _VERSION:
            self._upgrade(found)

    def _upgrade(self, found: int) -> None:
        """In one step. Tables may change places while nobody checks what refers to them."""
        script = _QUERIES["schema"]
        if found:
            script = "\n".join((_QUERIES["upgrade"], script, _QUERIES["move_in"]))
        self._db.execute("PRAGMA foreign_keys = OFF")
        self._db.executescript(f"BEGIN IMMEDIATE;\n{script}\nCOMMIT;")
        self._db.execute("PRAGMA foreign_keys = ON")

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with writing(self._path), self._sound(), self._db:
            yield self._db

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Around whatever relies on the file's being what was written."""
        remedy = "move it away: the next crawl makes another, and learns sites and servers anew"
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _OF_THE_DISK:
                raise
            raise DamagedFile(self._path, str(error), remedy) from None
        except (ValueError, TypeError, OverflowError) as error:
            raise DamagedFile(self._path, str(error), remedy) from None


def _record_visit(db: sqlite3.Connection, visit: Visit) -> None:
    values = {name: getattr(visit, name) for name in _VISIT_COLUMNS}
    key = {name: values[name] for name in _VISIT_KEY}
    counts = [{**key, "kind": kind, "count": n} for kind, n in visit.errors.items()]
    db.execute(_QUERIES["see_site"], key)
    db.execute(_QUERIES["clear_errors"], key)
    db.execute(_QUERIES["record_visit"], values)
    db.executemany(_QUERIES["record_errors"], counts)


def _put_state(db: sqlite3.Connection, state: SiteState) -> None:
    values = {name: getattr(state, name) for name in _STATE_COLUMNS}
    costs = dict(zip(_COSTS, state.costs or (None, None, None), strict=True))
    db.execute(_QUERIES["put_site_state"], {**values, **costs})


def _state(row: sqlite3.Row) -> SiteState:
    costs = tuple(row[name] for name in _COSTS)
    values = {name: row[name] for name in _STATE_COLUMNS}
    return SiteState(**values, costs=None if None in costs else costs)


def _checked(visit: Visit) -> Visit:
    figures = (visit.started, visit.finished, visit.seconds, visit.pages, visit.payload_bytes,
               visit.wire_bytes, visit.alpha or 0.0, *visit.errors.values())  # fmt: skip
    for figure in figures:
        _amount(figure)
    return visit


def _amount(figure: float) -> float:
    if not 0 <= figure <= _MOST:
        raise ValueError(f"{figure} is no amount of anything")
    return figure


def _speed(row: sqlite3.Row) -> ServerSpeed | None:
    """None: not what we wrote; it will be measured anew."""
    try:
        return ServerSpeed.decode(row["estimates"], row["measures"], row["measured"])
    except ValueError:
        return None
