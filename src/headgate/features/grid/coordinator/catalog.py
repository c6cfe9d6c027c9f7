"""The catalog of a manager: in its collection (SQLite), or in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.model.errors import UserMistake
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection

__all__ = ["looked_at_board", "only_manager", "opened_grid_catalog"]

_LOOK_SECONDS = 1.0


@contextmanager
def opened_grid_catalog(url: str, path: Path) -> Iterator[SqlCatalog]:
    """``url``: of PostgreSQL; empty: the SQLite file ``path``."""
    if not url:
        with SqliteCatalog(path) as catalog:
            yield catalog
        return
    from headgate.storage.catalog.postgres import PostgresCatalog

    with PostgresCatalog(url) as catalog:
        yield catalog


@asynccontextmanager
async def only_manager(url: str, tell: Callable[[str], None]) -> AsyncIterator[bool]:
    """Hold the catalog's lock, waiting for another manager to end; a killed one releases it. With
    SQLite, the lock of the collection does that. Yields whether it had to wait."""
    if not url:
        yield False
        return
    from headgate.storage.catalog.postgres import PostgresDatabase

    database = PostgresDatabase(url)
    try:
        waited = not database.hold()
        if waited:
            tell("another manager has this catalog; waiting until it ends")
            while not database.hold():
                await asyncio.sleep(_LOOK_SECONDS)
        yield waited
    finally:
        database.close()


@contextmanager
def looked_at_board(url: str, out: Path) -> Iterator[SqlBoard]:
    """The board, for commands other than the manager; raises `UserMistake` without a catalog."""
    path = Collection(out).catalog
    if not url and not path.is_file():
        raise UserMistake(f"{out}: no manager was there yet; name its folder with --out DIR")
    with opened_grid_catalog(url, path) as catalog:
        yield SqlBoard(catalog.database)
