"""The catalog in PostgreSQL, for managers of many nodes."""

from __future__ import annotations

from headgate.storage.catalog.postgres_database import PostgresDatabase
from headgate.storage.catalog.sql_catalog import SqlCatalog

__all__ = ["PostgresCatalog"]


class PostgresCatalog(SqlCatalog):
    """Opened by a URL like ``postgresql://user@host/database``."""

    def __init__(self, url: str) -> None:
        super().__init__(PostgresDatabase(url))
