"""Exports tables as an SQLite database, for Datasette and SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from headgate.storage.safe_files import writing
from headgate.storage.tables.rows import Rows, flat_rows

__all__ = ["write_sqlite"]

_INDEXED = {"pages": ("url", "site"), "links": ("source", "target"), "servers": ("host",)}
_SEARCHED = ("title", "text", "markdown")


def write_sqlite(tables: Mapping[str, Rows], path: Path) -> None:
    """Write to an empty file. Times are text; lists and maps are JSON. Pages exported with text can
    be searched in ``pages_fts``."""
    with writing(path), closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")  # the whole file is made durable at the end
        for name, rows in tables.items():
            _write(database, name, rows)
        database.execute("VACUUM")


def _write(database: sqlite3.Connection, name: str, rows: Rows) -> None:
    columns = ", ".join(f'"{field.name}" {_kind(field.type)}' for field in rows.schema)
    database.execute(f"CREATE TABLE {name} ({columns})")
    marks = ", ".join("?" * len(rows.schema))
    database.execute("BEGIN")
    for some in rows.batches:
        values = zip(*(column.to_pylist() for column in flat_rows(some).columns), strict=True)
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
    for column in _INDEXED.get(name, ()):
        if column in rows.schema.names:
            database.execute(f"CREATE INDEX {name}_{column} ON {name} ({column})")
    searched = [column for column in _SEARCHED if column in rows.schema.names]
    if len(searched) > 1:
        names = ", ".join(searched)
        database.execute(f"CREATE VIRTUAL TABLE {name}_fts USING fts5 ({names}, content={name})")
        database.execute(f"INSERT INTO {name}_fts ({name}_fts) VALUES ('rebuild')")
    database.execute("COMMIT")


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"
