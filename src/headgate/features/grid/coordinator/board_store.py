"""The scheduler's board in the catalog: in SQL, one transaction for all who wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter

import msgspec

from headgate.crawling.page_writer import GroupCommit
from headgate.features.grid.protocol import Lease
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import (
    Audit,
    BoardState,
    BoardStore,
    BoardTask,
    Changes,
    LeaseEnding,
    LeaseRow,
    NewTask,
    NodeFigures,
    NodeRow,
    Rank,
    rank_of,
)
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.grid import TaskListing
from headgate.storage.catalog.sql_catalog import Database, Row, Transaction, load_queries

__all__ = ["BoardSaver", "SqlBoard"]

_QUERIES = load_queries("board.sql")
_AT_ONCE = 1_000
"""Rows of a long list."""
_NEAR_NODES = 64
"""The newest connect times kept for each host."""


@dataclass(frozen=True, slots=True)
class SqlBoard:
    """The board of a grid in the catalog: a `headgate.features.grid.scheduler.records.BoardStore`
    in SQL.
    """

    database: Database

    def add_tasks(self, tasks: Iterable[NewTask]) -> list[BoardTask]:
        with self.database.changing() as db:
            return [_added(db, task) for task in tasks]

    def tasks(self, run: str) -> list[BoardTask]:
        return [_task(row) for row in self._in_pages(_QUERIES["open_tasks"], run)]

    def begun_tasks(self, run: str) -> list[BoardTask]:
        return [_task(row) for row in self._in_pages(_QUERIES["begun_tasks"], run)]

    def waiting(self, run: str) -> Iterator[Rank]:
        for row in self._in_pages(_QUERIES["waiting_tasks"], run):
            yield rank_of(row["due"], row["expected_seconds"], row["value"], row["id"])

    def tasks_of(self, numbers: Iterable[int]) -> list[BoardTask]:
        with self.database.reading() as db:
            found = [db.rows(_QUERIES["task"], {"id": number}) for number in numbers]
            return [_task(row) for (row,) in found]

    def _in_pages(self, query: str, run: str) -> Iterator[Row]:
        """Rows of a long list, in the order of their numbers."""
        values: dict[str, object] = {"run": run, "after": 0, "most": _AT_ONCE}
        while True:
            with self.database.reading() as db:
                rows = db.rows(query, values)
            if not rows:
                return
            yield from rows
            values["after"] = rows[-1]["id"]

    def count(self, run: str) -> dict[BoardState, int]:
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["count_tasks"], {"run": run})
            return {BoardState(row["state"]): int(row["tasks"]) for row in rows}

    def losses(self, run: str) -> tuple[int, float]:
        with self.database.reading() as db:
            (row,) = db.rows(_QUERIES["losses"], {"run": run})
            return int(row["lost"]), float(row["held_seconds"])

    def open_leases(self, run: str) -> list[LeaseRow]:
        with self.database.reading() as db:
            return [_lease(row) for row in db.rows(_QUERIES["open_leases"], {"run": run})]

    def end_others(self, run: str, wall: float) -> list[LeaseRow]:
        with self.database.changing() as db:
            rows = [_lease(row) for row in db.rows(_QUERIES["other_leases"], {"run": run})]
            for row in rows:
                row.ended, row.how = wall, LeaseEnding.LEFT
            _save_leases(db, rows)
            return rows

    def silent_leases(self, run: str) -> list[LeaseRow]:
        with self.database.reading() as db:
            return [_lease(row) for row in db.rows(_QUERIES["silent_leases"], {"run": run})]

    def lease(self, lease: Lease) -> LeaseRow | None:
        with self.database.reading() as db:
            values = {"task": lease.task, "epoch": lease.epoch}
            rows = db.rows(_QUERIES["lease"], values)
            return _lease(rows[0]) if rows else None

    def winner(self, task: int) -> int | None:
        row = self._result(task)
        return None if row is None else row["winner"]

    def is_awaited(self, lease: Lease) -> bool:
        with self.database.reading() as db:
            values = {"task": lease.task, "epoch": lease.epoch}
            return bool(db.rows(_QUERIES["awaited"], values))

    def spec(self, task: int) -> bytes:
        row = self._result(task)
        if row is None:
            raise WorldFault(f"task {task} is gone from the catalog")
        return bytes(row["spec"])

    def manifest(self, task: int) -> bytes | None:
        row = self._result(task)
        return None if row is None or row["manifest"] is None else bytes(row["manifest"])

    def done(self, run: str) -> list[tuple[str, Lease]]:
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["done_tasks"], {"run": run})
            return [(row["site"], Lease(row["id"], row["winner"])) for row in rows]

    def save(self, changes: Changes) -> None:
        with self.database.changing() as db:
            if changes.leases:
                _save_leases(db, changes.leases.values())
            for number, task in changes.tasks.items():
                values = {
                    "id": number, "before": changes.epochs[number], "state": task.state.value,
                    "epoch": task.epoch, "winner": task.winner, "lost": task.lost,
                    "held_seconds": task.held_seconds, "manifest": changes.manifests.get(number),
                }  # fmt: skip
                if db.run(_QUERIES["save_task"], values) != 1:
                    raise WorldFault(f"task {number} was changed by another manager")
            # A statement without rows is not free: the thread waits for the interpreter after it.
            if changes.nodes:
                db.run_each(_QUERIES["save_node"], map(_node_values, changes.nodes.values()))
            if changes.connects:
                _save_connects(db, changes)
            if changes.audits:
                db.run_each(_QUERIES["save_audit"], map(_audit_values, changes.audits))

    def invite(self, node: str, group: str, token_key: str, wall: float) -> bool:
        with self.database.changing() as db:
            values = {"name": node, "grp": group, "token_key": token_key, "joined": wall}
            return db.run(_QUERIES["invite"], values) == 1

    def revoke(self, node: str) -> bool:
        with self.database.changing() as db:
            return db.run(_QUERIES["set_revoked"], {"name": node}) == 1

    def nodes(self) -> dict[str, NodeRow]:
        with self.database.reading() as db:
            rows = map(_node, db.rows(_QUERIES["nodes"], {}))
            return {row.name: row for row in rows}

    def figures(self, run: str | None = None) -> dict[str, NodeFigures]:
        with self.database.reading() as db:
            return {
                row["node"]: NodeFigures(
                    **{name: int(value) for name, value in row.items() if name != "node"}
                )
                for row in db.rows(_QUERIES["figures"], {"run": run or ""})
            }

    def connects(self) -> dict[str, dict[str, float]]:
        with self.database.reading() as db:
            found: dict[str, dict[str, float]] = {}
            for row in db.rows(_QUERIES["connects"], {}):
                found.setdefault(row["host"], {})[row["node"]] = row["connect_seconds"]
            return found

    def listing(self, state: BoardState | None, limit: int) -> list[TaskListing]:
        with self.database.reading() as db:
            values = {"state": "" if state is None else state.value, "limit": limit}
            rows = db.rows(_QUERIES["listing"], values)
            return [_listing(list(group)) for _, group in groupby(rows, key=itemgetter("id"))]

    def audits(self, run: str) -> list[Audit]:
        with self.database.reading() as db:
            return [
                Audit(
                    **{
                        **row,
                        "examples": msgspec.json.decode(row["examples"], type=tuple[str, ...]),
                    }
                )
                for row in db.rows(_QUERIES["audits"], {"run": run})
            ]

    def _result(self, task: int) -> Row | None:
        with self.database.reading() as db:
            rows = db.rows(_QUERIES["task_result"], {"task": task})
            return rows[0] if rows else None


def _added(db: Transaction, task: NewTask) -> BoardTask:
    values = msgspec.structs.asdict(task)
    db.run(_QUERIES["add_task"], values)
    (row,) = db.rows(_QUERIES["same_task"], {**values, "audited": task.audit_of or 0})
    return _task(row)


def _save_leases(db: Transaction, leases: Iterable[LeaseRow]) -> None:
    """Ended leases first: new ones may take their place."""
    rows = sorted(leases, key=lambda row: row.ended is None)
    db.run_each(
        _QUERIES["save_lease"],
        [
            {
                "task": row.lease.task, "epoch": row.lease.epoch, "node": row.node,
                "claim": row.claim, "host": row.host, "place": row.place, "given": row.given,
                "ended": row.ended, "how": None if row.how is None else row.how.value,
                "pages": row.pages, "wire_bytes": row.wire_bytes,
            }
            for row in rows
        ],
    )  # fmt: skip


def _save_connects(db: Transaction, changes: Changes) -> None:
    db.run_each(
        _QUERIES["save_connect"],
        [
            {"node": node, "host": host, "connect_seconds": seconds, "measured": measured}
            for (node, host), (seconds, measured) in changes.connects.items()
        ],
    )
    hosts = {host for _, host in changes.connects}
    db.run_each(
        _QUERIES["forget_connects"], [{"host": host, "most": _NEAR_NODES} for host in hosts]
    )


def _task(row: Row) -> BoardTask:
    return BoardTask(**{**row, "state": BoardState(row["state"])})


def _lease(row: Row) -> LeaseRow:
    values = {name: value for name, value in row.items() if name not in ("task", "epoch")}
    values["how"] = None if row["how"] is None else LeaseEnding(row["how"])
    return LeaseRow(Lease(row["task"], row["epoch"]), **values)


def _node(row: Row) -> NodeRow:
    values = {name: value for name, value in row.items() if name != "grp"}
    return NodeRow(**{**values, "group": row["grp"], "revoked": bool(row["revoked"])})


def _node_values(node: NodeRow) -> dict[str, object]:
    values = msgspec.structs.asdict(node)
    values["grp"], values["revoked"] = values.pop("group"), int(node.revoked)
    return values


def _audit_values(audit: Audit) -> dict[str, object]:
    values = msgspec.structs.asdict(audit)
    return {**values, "examples": msgspec.json.encode(audit.examples).decode()}


def _listing(rows: list[Row]) -> TaskListing:
    values = {name: value for name, value in rows[0].items() if name != "node"}
    nodes = tuple(row["node"] for row in rows if row["node"] is not None)
    return TaskListing(**values, nodes=nodes)


@dataclass(slots=True)
class _Asked:
    task: int | None = None
    """The task whose spec is wanted; None: no spec is."""
    spec: bytes = b""


def _nobody(_: int) -> None: ...


@dataclass(slots=True)
class BoardSaver:
    """Saves the board's decisions in the catalog, with one transaction for all who wait."""

    board: Board
    store: BoardStore
    fault: BaseException | None = None
    """Why saving failed; the board is ahead of the catalog then, and no more questions are
    answered."""
    given_up: Callable[[int], None] = _nobody
    """Called for each task that is dropped."""
    _saving: GroupCommit[_Asked] = field(init=False)

    def __post_init__(self) -> None:
        self._saving = GroupCommit(self._begin)

    async def stored(self) -> None:
        """Returns when all decisions so far are stored."""
        await self._commit(_Asked())

    async def stored_with_spec(self, task: int) -> bytes:
        """The same, and return the spec of a task; read separately, it would wait for the next
        transaction."""
        asked = _Asked(task)
        await self._commit(asked)
        return asked.spec

    async def _commit(self, asked: _Asked) -> None:
        try:
            await self._saving.commit(asked)
        except HeadgateError as fault:
            self.fault = fault
            raise

    def _begin(self, asked: Sequence[_Asked]) -> Callable[[], object]:
        changes = self.board.changes.drain()
        for number, task in changes.tasks.items():
            if task.state is BoardState.DROPPED:
                self.given_up(number)
        return partial(self._save, changes, asked)

    def _save(self, changes: Changes, asked: Sequence[_Asked]) -> None:
        if changes:
            self.store.save(changes)
        for one in asked:
            if one.task is not None:
                one.spec = self.store.spec(one.task)
