"""The catalog of a collection, in a file of SQLite's in WAL mode."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from headgate.model.errors import DamagedFile, HeadgateError, UserMistake, WorldFault
from headgate.storage.catalog.sql_catalog import VERSION, Row, SqlCatalog, Values, steps_after
from headgate.storage.collection import Collection
from headgate.storage.safe_files import refuse_strange, writing

__all__ = ["SqliteCatalog", "opened_catalog"]

_WAIT_SECONDS = 10.0
_OF_THE_DISK = frozenset((
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS,
))  # fmt: skip
"""Errors of the disk, not of the file's content."""
_FOREIGN = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1"
"""Schema objects that can do more than hold rows; our schema has none."""
_REMEDY = "move it away: the next crawl makes another, and learns sites and servers anew"


class SqliteDatabase:
    """SQLite in WAL mode, as a `headgate.storage.catalog.sql_catalog.Database`.

    Writing is rare (a few rows per visit), so every change is made durable at once; readers never
    wait for it. Threads share the connection under a lock.

    Opened on a file, which is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        for name in ("", "-journal", "-wal", "-shm"):
            refuse_strange(path.with_name(path.name + name))
        with writing(path):
            self._db = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
            self._db.row_factory = sqlite3.Row
        try:
            with writing(path), self._sound():
                self._lay_out()
        except HeadgateError:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def changing(self) -> Iterator[_Transaction]:
        with self._lock, writing(self._path), self._sound(), self._db:
            yield _Transaction(self._db)

    @contextmanager
    def reading(self) -> Iterator[_Transaction]:
        with self._lock, self._sound():
            yield _Transaction(self._db)

    def _lay_out(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA trusted_schema = OFF")
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found > VERSION:
            raise WorldFault(f"{self._path} was made by a newer Headgate; use that one")
        if self._db.execute(_FOREIGN).fetchone() is not None:
            raise ValueError("it holds triggers or views")
        if found < VERSION:
            # Migrations replace tables, so foreign keys are not checked meanwhile.
            script = "\n".join(steps_after("sqlite", found))
            self._db.executescript(
                f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {VERSION};\nCOMMIT;"
            )
        self._db.execute("PRAGMA foreign_keys = ON")

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Around everything that relies on the file being intact."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _OF_THE_DISK:
                raise
            raise DamagedFile(self._path, str(error), _REMEDY) from None
        except (ValueError, TypeError, OverflowError) as error:
            raise DamagedFile(self._path, str(error), _REMEDY) from None


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def run(self, query: str, values: Values) -> int:
        return self._db.execute(query, values).rowcount

    def run_each(self, query: str, values: Iterable[Values]) -> None:
        self._db.executemany(query, values)

    def rows(self, query: str, values: Values) -> list[Row]:
        return [dict(row) for row in self._db.execute(query, values)]


class SqliteCatalog(SqlCatalog):
    """The catalog of a collection: a file of SQLite's.

    Opened on a file, which is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteDatabase(path))


@contextmanager
def opened_catalog(folder: Path) -> Iterator[SqliteCatalog]:
    """The catalog of a collection, for commands that only read.

    A folder without a catalog is the user's mistake; none is created.
    """
    if not folder.is_dir():
        raise UserMistake(f"{folder}: there is no such folder")
    path = Collection(folder).catalog
    if not path.is_file():
        raise UserMistake(f"{folder}: no run in there; name the folder that a crawl's --out named")
    with SqliteCatalog(path) as catalog:
        yield catalog
