"""The catalog of a collection, for commands that only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.model.errors import UserMistake
from headgate.storage.catalog.sqlite_catalog import SqliteCatalog
from headgate.storage.collection import Collection

__all__ = ["opened_catalog"]


@contextmanager
def opened_catalog(folder: Path) -> Iterator[SqliteCatalog]:
    """A folder without a catalog is the user's mistake; none is created."""
    if not folder.is_dir():
        raise UserMistake(f"{folder}: there is no such folder")
    path = Collection(folder).catalog
    if not path.is_file():
        raise UserMistake(f"{folder}: no run in there; name the folder that a crawl's --out named")
    with SqliteCatalog(path) as catalog:
        yield catalog
