"""The catalog in SQL: the adapter of `headgate.control.catalog.Catalog` over either database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from headgate.bandwidth.server_speed import ServerSpeed
from headgate.control.catalog import KeptPromise, Outcome, Run, Server, SiteState, Visit

__all__ = [
    "VERSION",
    "Database",
    "Row",
    "SqlCatalog",
    "Transaction",
    "Values",
    "load_queries",
    "steps_after",
]

_NAME = re.compile(r"^-- name: (\w+)\n", re.M)


def load_queries(file: str) -> dict[str, str]:
    """SQL kept in ``.sql`` files: each query under a line ``-- name: …``, its purpose below it.

    All queries of a file of ``headgate/storage/catalog/sql``, by name.
    """
    text = (Path(__file__).with_name("sql") / file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


# The catalog.


_MOST = 2.0**60
"""Of anything that is counted."""
_QUERIES = load_queries("catalog.sql")
_VISIT_KEY = ("site", "run", "visit")
_VISIT_COLUMNS = tuple(name for name in Visit.__struct_fields__ if name != "errors")
_COSTS = ("connection_bytes", "request_bytes", "look_seconds")
_STATE_COLUMNS = tuple(name for name in SiteState.__struct_fields__ if name != "costs")


class SqlCatalog:
    def __init__(self, database: Database) -> None:
        self.database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.database.close()

    def begin_run(self, stamp: str, started: float, settings: str) -> None:
        """A run starts or is resumed."""
        with self.database.changing() as db:
            values = {"stamp": stamp, "started": started, "settings": settings}
            db.run(_QUERIES["begin_run"], values)

    def end_run(self, stamp: str, finished: float, outcome: Outcome) -> None:
        with self.database.changing() as db:
            values = {"stamp": stamp, "finished": finished, "outcome": outcome.value}
            db.run(_QUERIES["end_run"], values)

    def runs(self) -> list[Run]:
        """The newest first."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["runs"], {})
            return [Run(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]

    def record_visits(self, visits: Iterable[Visit]) -> None:
        """Visits of a run that was begun here, all or none; replaces earlier records of the same
        visits."""
        with self.database.changing() as db:
            for visit in visits:
                _record_visit(db, visit)

    def record_kept(self, visit: Visit, state: SiteState, promise: KeptPromise | None) -> None:
        """A keeper's visit, the site's state after it, and the promise that it settled: all or
        none."""
        with self.database.changing() as db:
            _record_visit(db, visit)
            _put_state(db, state)
            if promise is not None:
                values = {"site": promise.site, "due": promise.due, "settled": promise.settled}
                db.run(_QUERIES["settle_promise"], values)

    def put_site_state(self, state: SiteState) -> None:
        with self.database.changing() as db:
            _put_state(db, state)

    def site_states(self) -> dict[str, SiteState]:
        """By site."""
        with self.database.reading() as db:
            return {row["site"]: _state(row) for row in db.rows(_QUERIES["site_states"], {})}

    def promises(self, since: float) -> list[KeptPromise]:
        """Settled since then, the oldest first."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["promises"], {"since": since})
            return [KeptPromise(**row) for row in rows]

    def forget_before(self, moment: float) -> None:
        """Delete older promises and line use, and a keeper's visits in runs that ended before,
        except the last visit to each site."""
        with self.database.changing() as db:
            db.run(_QUERIES["forget_promises"], {"moment": moment})
            db.run(_QUERIES["forget_line_use"], {"moment": moment})
            db.run(_QUERIES["forget_errors"], {"moment": moment})
            db.run(_QUERIES["forget_visits"], {"moment": moment})

    def history(self, site: str, limit: int = 10) -> list[Visit]:
        """The last visits to a site, the newest first."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["history"], {"site": site, "limit": limit})
            return [_checked(Visit(**{**row, **_details(db, row)})) for row in rows]

    def visits_of(self, run: str) -> list[Visit]:
        """All visits of a run, ordered by site and number; without their errors."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["visits_of"], {"run": run})
            return [_checked(Visit(**{**row, "complete": bool(row["complete"])})) for row in rows]

    def add_line_use(self, bytes_by_slot: Mapping[int, int]) -> None:
        """Bytes received since the last call, by quarter of an hour."""
        most = int(_MOST)
        rows = [
            {"slot": slot, "bytes": min(bytes_, most), "most": most}
            for slot, bytes_ in bytes_by_slot.items()
        ]
        with self.database.changing() as db:
            db.run_each(_QUERIES["add_line_use"], rows)

    def line_use(self, first: int) -> dict[int, int]:
        """Bytes by quarter of an hour, from the quarter ``first`` on."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["line_use"], {"first": first})
            return {row["slot"]: int(_amount(row["bytes"])) for row in rows}

    def record_servers(self, servers: Iterable[Server]) -> None:
        """Replace what is known of these servers; their hosts are added to those of the address."""
        with self.database.changing() as db:
            for server in servers:
                speed = server.speed
                values = {
                    "address": server.address, "measured": speed.latest,
                    "measures": speed.measures, "estimates": speed.encode(),
                }  # fmt: skip
                db.run(_QUERIES["record_server"], values)
                seen = {"address": server.address, "seen": speed.latest}
                hosts = [{**seen, "host": host} for host in server.hosts]
                db.run_each(_QUERIES["record_host"], hosts)

    def server(self, address: str) -> ServerSpeed | None:
        """What is known of an address; None: nothing."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["server"], {"address": address})
            return _speed(rows[0]) if rows else None

    def address(self, host: str) -> str | None:
        """The last address of a host; None: unknown."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["address"], {"host": host})
            return str(rows[0]["address"]) if rows else None

    def servers(self) -> list[Server]:
        """All of them, the last measured first."""
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["servers"], {})
            grouped = (list(group) for _, group in groupby(rows, key=itemgetter("address")))
            return [
                Server(rows[0]["address"], tuple(row["host"] for row in rows if row["host"]), speed)
                for rows in grouped
                if (speed := _speed(rows[0])) is not None
            ]


def _details(db: Transaction, visit: Row) -> dict[str, Any]:
    """Details that do not fit into the row of a visit."""
    errors = db.rows(_QUERIES["errors"], {name: visit[name] for name in _VISIT_KEY})
    counts = {row["kind"]: row["count"] for row in errors}
    return {"complete": bool(visit["complete"]), "errors": counts}


def _record_visit(db: Transaction, visit: Visit) -> None:
    values = {name: getattr(visit, name) for name in _VISIT_COLUMNS}
    values["complete"] = int(visit.complete)
    key = {name: values[name] for name in _VISIT_KEY}
    counts = [{**key, "kind": kind, "count": n} for kind, n in visit.errors.items()]
    db.run(_QUERIES["see_site"], key)
    db.run(_QUERIES["clear_errors"], key)
    db.run(_QUERIES["record_visit"], values)
    db.run_each(_QUERIES["record_errors"], counts)


def _put_state(db: Transaction, state: SiteState) -> None:
    values = {name: getattr(state, name) for name in _STATE_COLUMNS}
    costs = dict(zip(_COSTS, state.costs or (None, None, None), strict=True))
    db.run(_QUERIES["put_site_state"], {**values, **costs})


def _state(row: Row) -> SiteState:
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


def _speed(row: Row) -> ServerSpeed | None:
    """None: it cannot be decoded; it will be measured anew."""
    try:
        return ServerSpeed.decode(row["estimates"], row["measures"], row["measured"])
    except ValueError:
        return None


VERSION = 8
"""Of the tables, in either dialect."""

Values: TypeAlias = Mapping[str, object]
Row: TypeAlias = Mapping[str, Any]


class Transaction(Protocol):
    """All that is done in it, or nothing."""

    def run(self, query: str, values: Values) -> int:
        """How many rows it changed."""
        ...

    def run_each(self, query: str, values: Iterable[Values]) -> None: ...

    def rows(self, query: str, values: Values) -> Sequence[Row]: ...


class Database(Protocol):
    """The database that the catalog needs: the port of the SQLite and PostgreSQL adapters.

    Queries are those of ``catalog/sql``, which SQLite and PostgreSQL both understand, with values
    by name (``:site``). The tables are brought up to date by numbered files,
    ``sql/<dialect>/006.sql``: each migrates a database from the version before to its own number.

    Errors are Headgate's own, in one line with the remedy.
    """

    def changing(self) -> AbstractContextManager[Transaction]:
        """Durable when the block has ended."""
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """The same, read-only; errors in decoding rows are reported, too."""
        ...

    def close(self) -> None: ...


def steps_after(dialect: str, version: int) -> list[str]:
    """The scripts that migrate a database from ``version`` (0: new) to the current one."""
    folder = Path(__file__).with_name("sql") / dialect
    scripts = {
        int(file.name.removesuffix(".sql")): file
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }
    assert max(scripts) == VERSION, "a step is missing, or not counted"
    return [scripts[at].read_text(encoding="utf-8") for at in sorted(scripts) if at > version]
