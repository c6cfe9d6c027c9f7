"""A database as the catalog needs one, whatever it is: the port of its two adapters.

Queries are those of ``catalog/sql``, which SQLite and PostgreSQL both understand, with values by
name (``:site``). The tables are brought up to date by numbered files, ``sql/<dialect>/006.sql``:
each brings a database from the version before to the one that it is named after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import Any, Protocol, TypeAlias

__all__ = ["VERSION", "Database", "Row", "Transaction", "Values", "steps_after"]

VERSION = 7
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
    """Errors are Headgate's own, in one line with the remedy."""

    def changing(self) -> AbstractContextManager[Transaction]:
        """Durable when the block has ended."""
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """The same, to look only; also around the making of values of what was read."""
        ...

    def close(self) -> None: ...


def steps_after(dialect: str, version: int) -> list[str]:
    """The scripts that bring a database of a version, 0 for a new one, up to date."""
    folder = files("headgate.storage.catalog").joinpath("sql", dialect)
    scripts = {
        int(file.name.removesuffix(".sql")): file
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }
    assert max(scripts) == VERSION, "a step is missing, or not counted"
    return [scripts[at].read_text(encoding="utf-8") for at in sorted(scripts) if at > version]
