"""The catalog: what past runs taught about sites and servers. SQLite in WAL mode.

It holds sites and runs, never pages. Writing is rare (a few rows per visit), so every change is
made durable at once; readers such as a dashboard never wait for it. One thread at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from headgate.model.errors import WorldFault
from headgate.storage.faults import writing
from headgate.storage.queries import load_queries
from headgate.traffic.server_speed import ServerSpeed

__all__ = ["Catalog", "Outcome", "Run", "Server", "Visit"]

_VERSION = 3
_WAIT_SECONDS = 10.0
_QUERIES = load_queries("catalog.sql")


class Outcome(StrEnum):
    """How far a run came."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    stamp: str
    """The name of its folder."""
    started: float
    finished: float | None
    outcome: Outcome
    settings: str
    """JSON: what the run was asked to do."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One run's visit to one site. Times are seconds since 1970."""

    site: str
    run: str
    started: float
    finished: float
    seconds: float
    """Spent crawling, pauses left out."""
    pages: int
    payload_bytes: int
    wire_bytes: int
    alpha: float | None = None
    """Zhu 2020, Eq. 17; None: not measured."""
    complete: bool = True
    """False: stopped with URLs left to do."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """By failure kind, or by status such as "404"."""

    @property
    def mean_page_bytes(self) -> float | None:
        return self.payload_bytes / self.pages if self.pages else None


@dataclass(frozen=True, slots=True)
class Server:
    """An address and the hosts that were found at it."""

    address: str
    hosts: tuple[str, ...]
    speed: ServerSpeed


class Catalog:
    """Opened on a file, which is made if it is not there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing(path):
            self._db = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
            self._db.row_factory = sqlite3.Row
        try:
            with writing(path):
                self._lay_out()
        except WorldFault:
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
        rows = self._db.execute(_QUERIES["runs"])
        return [Run(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]

    def sites(self) -> list[str]:
        return [name for (name,) in self._db.execute(_QUERIES["sites"])]

    def record_visit(self, visit: Visit) -> None:
        """Of a run that was begun here; replaces what was recorded of the same visit before."""
        values = {**asdict(visit), "complete": int(visit.complete)}
        errors = values.pop("errors")
        key = {"site": visit.site, "run": visit.run}
        counts = [{**key, "kind": kind, "count": count} for kind, count in errors.items()]
        with self._changing() as db:
            db.execute(_QUERIES["see_site"], key)
            db.execute(_QUERIES["clear_errors"], key)
            db.execute(_QUERIES["record_visit"], values)
            db.executemany(_QUERIES["record_errors"], counts)

    def history(self, site: str, limit: int = 10) -> list[Visit]:
        """The last visits to a site, the newest first."""
        rows = self._db.execute(_QUERIES["history"], {"site": site, "limit": limit}).fetchall()
        return [Visit(**{**row, **self._details(row)}) for row in rows]

    def add_line_use(self, bytes_by_slot: Mapping[int, int]) -> None:
        """What came over the line since the last time, by quarter of an hour."""
        rows = [{"slot": slot, "bytes": bytes_} for slot, bytes_ in bytes_by_slot.items()]
        with self._changing() as db:
            db.executemany(_QUERIES["add_line_use"], rows)

    def line_use(self, first: int) -> dict[int, int]:
        """Bytes by quarter of an hour, from the quarter ``first`` on."""
        rows = self._db.execute(_QUERIES["line_use"], {"first": first})
        return {row["slot"]: row["bytes"] for row in rows}

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
        row = self._db.execute(_QUERIES["server"], {"address": address}).fetchone()
        return None if row is None else _speed(row)

    def address(self, host: str) -> str | None:
        """Where a host was found last; None: it never was."""
        row = self._db.execute(_QUERIES["address"], {"host": host}).fetchone()
        return None if row is None else str(row["address"])

    def servers(self) -> list[Server]:
        """All of them, the last measured first."""
        rows = self._db.execute(_QUERIES["servers"])
        grouped = (list(group) for _, group in groupby(rows, key=itemgetter("address")))
        return [
            Server(rows[0]["address"], tuple(row["host"] for row in rows if row["host"]), speed)
            for rows in grouped
            if (speed := _speed(rows[0])) is not None
        ]

    def _details(self, visit: sqlite3.Row) -> dict[str, Any]:
        """What the table of visits cannot say in one row."""
        key = {"site": visit["site"], "run": visit["run"]}
        errors = self._db.execute(_QUERIES["errors"], key)
        return {"complete": bool(visit["complete"]), "errors": dict(tuple(row) for row in errors)}

    def _lay_out(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        (found,) = self._db.execute(_QUERIES["version"]).fetchone()
        if found > _VERSION:
            raise WorldFault(f"{self._path} was made by a newer Headgate; use that one")
        if found < _VERSION:
            self._db.executescript(_QUERIES["schema"])

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with writing(self._path), self._db:
            yield self._db


def _speed(row: sqlite3.Row) -> ServerSpeed | None:
    """None: not what we wrote; it will be measured anew."""
    try:
        return ServerSpeed.decode(row["estimates"], row["measures"], row["measured"])
    except ValueError:
        return None
