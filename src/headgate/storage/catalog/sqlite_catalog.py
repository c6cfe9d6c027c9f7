"""The catalog of a collection: a file of SQLite's."""

from __future__ import annotations

from pathlib import Path

from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.catalog.sqlite_database import SqliteDatabase

__all__ = ["SqliteCatalog"]


class SqliteCatalog(SqlCatalog):
    """Opened on a file, which is made if it is not there."""

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteDatabase(path))
