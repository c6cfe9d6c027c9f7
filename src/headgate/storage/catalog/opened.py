"""The catalog of a collection that a user names, for commands that only look."""

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
    """A folder without one is a mistake, and none is made in it."""
    if not folder.is_dir():
        raise UserMistake(f"{folder}: there is no such folder")
    path = Collection(folder).catalog
    if not path.is_file():
        raise UserMistake(f"{folder}: no run in there; it is no collection of headgate's")
    with SqliteCatalog(path) as catalog:
        yield catalog
