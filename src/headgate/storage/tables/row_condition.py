"""A condition on rows of a table, in SQL: ``status = 200 and url like '%/docs/%'``.

SQLite evaluates it, on batches of rows in an in-memory table, so that all of its functions and
comparison rules apply: ``like`` ignores the case of ASCII letters. Times are text, which sorts as
time does: ``fetched_at >= '2026-11-15'``. An authorizer allows nothing but reading those rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from headgate.model.errors import UserMistake
from headgate.storage.tables.plain_rows import flat_rows

__all__ = ["RowCondition"]

_ALLOWED = frozenset((
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
))  # fmt: skip


class RowCondition:
    """The condition of ``--where``; without text, all rows meet it."""

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        """Raises `UserMistake` if it is not a condition on these columns."""
        self._text = text
        self._columns = list(columns)
        if text:
            self._numbers([])

    def matching(self, rows: pa.Table) -> pa.Table:
        """The rows that meet it, in order."""
        if not self._text:
            return rows
        values = [column.to_pylist() for column in flat_rows(rows.select(self._columns)).columns]
        return rows.take(pa.array(self._numbers(list(zip(*values, strict=True))), pa.int64()))

    def _numbers(self, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        names = ", ".join(f'"{name}"' for name in self._columns)
        marks = ", ".join("?" * len(self._columns))
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            database.execute(f"CREATE TABLE rows ({names})")
            database.execute("BEGIN")
            database.executemany(f"INSERT INTO rows VALUES ({marks})", rows)
            database.execute("COMMIT")
            database.set_authorizer(_authorise)
            try:
                found = database.execute(
                    f"SELECT rowid - 1 FROM rows WHERE ({self._text}\n) ORDER BY rowid"
                ).fetchall()
            except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
                raise UserMistake(
                    f"where {self._text!r}: {error}; it is a condition in SQL on"
                    f" {', '.join(self._columns)}"
                ) from None
        return [number for (number,) in found]


def _authorise(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
