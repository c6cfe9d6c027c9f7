"""The database that the catalog needs: the port of the SQLite and PostgreSQL adapters.

Queries are those of ``catalog/sql``, which SQLite and PostgreSQL both understand, with values by
name (``:site``). The tables are brought up to date by numbered files, ``sql/<dialect>/006.sql``:
each migrates a database from the version before to its own number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

__all__ = ["VERSION", "Database", "Row", "Transaction", "Values", "steps_after"]

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
    """Errors are Headgate's own, in one line with the remedy."""

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
