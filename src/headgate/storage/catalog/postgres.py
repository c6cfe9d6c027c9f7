"""The catalog in PostgreSQL, by psycopg 3, for managers of many nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any

from headgate.model.errors import HeadgateError, UserMistake, WorldFault, extra
from headgate.storage.catalog.sql_catalog import VERSION, Row, SqlCatalog, Values, steps_after

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresCatalog", "PostgresDatabase"]

_CONNECT_SECONDS = 10
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('headgate ' || current_schema()))"
_TRY_MANAGER_LOCK = (
    "SELECT pg_try_advisory_lock(hashtext('headgate manager ' || current_schema())) AS taken"
)
_NAME = re.compile(r"(?<!:):([a-z_]+)")


class PostgresDatabase:
    """PostgreSQL by psycopg 3, as a `headgate.storage.catalog.sql_catalog.Database`.

    One connection, shared by threads under a lock. If it breaks, the operation fails with
    `WorldFault`; what was committed is there, and nothing else is.

    Opened by a URL; the tables are made in its schema if they are not there.
    """

    def __init__(self, url: str) -> None:
        self._psycopg = extra("psycopg", "catalogs in PostgreSQL", "grid")
        self._place = _without_password(url)
        self._lock = RLock()
        self._db = self._connected(url)
        try:
            with self._faults(), self._db.transaction():
                self._lay_out()
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    def hold(self) -> bool:
        """Become the only manager of this catalog, until the connection ends; False: there is one
        already."""
        with self.changing() as change:
            (row,) = change.rows(_TRY_MANAGER_LOCK, {})
            return bool(row["taken"])

    @contextmanager
    def changing(self) -> Iterator[_Transaction]:
        with self._lock, self._faults(), self._db.transaction():
            yield _Transaction(self._db)

    @contextmanager
    def reading(self) -> Iterator[_Transaction]:
        with self.changing() as change:
            yield change

    def _connected(self, url: str) -> psycopg.Connection[dict[str, Any]]:
        from psycopg.rows import dict_row

        try:
            return self._psycopg.connect(  # type: ignore[no-any-return]
                url, autocommit=True, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS
            )
        except self._psycopg.OperationalError as error:
            raise WorldFault(f"cannot reach the catalog {self._place}: {_line(error)}") from error
        except self._psycopg.ProgrammingError as error:
            raise UserMistake(
                f"--catalog: {self._place} is not understood ({_line(error)}); write it like"
                " postgresql://user@host/database"
            ) from error

    def _lay_out(self) -> None:
        self._db.execute(_LOCK)  # of two processes that start at once, one makes the tables
        self._db.execute("CREATE TABLE IF NOT EXISTS headgate (version BIGINT NOT NULL)")
        row = self._db.execute("SELECT version FROM headgate").fetchone()
        found = 0 if row is None else int(row["version"])
        if found > VERSION:
            raise WorldFault(f"{self._place} was made by a newer Headgate; use that one")
        if found == VERSION:
            return
        for script in steps_after("postgresql", found):
            self._db.execute(script)
        self._db.execute("DELETE FROM headgate")
        self._db.execute("INSERT INTO headgate (version) VALUES (%s)", (VERSION,))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except HeadgateError:
            raise
        except self._psycopg.Error as error:
            raise WorldFault(f"the catalog {self._place} fails: {_line(error)}") from error
        except (ValueError, TypeError, OverflowError) as error:
            raise WorldFault(f"the catalog {self._place} holds strange rows: {error}") from error


class _Transaction:
    def __init__(self, db: psycopg.Connection[dict[str, Any]]) -> None:
        self._db = db

    def run(self, query: str, values: Values) -> int:
        return self._db.execute(_in_dialect(query), values).rowcount

    def run_each(self, query: str, values: Iterable[Values]) -> None:
        with self._db.cursor() as cursor:
            cursor.executemany(_in_dialect(query), list(values))

    def rows(self, query: str, values: Values) -> list[Row]:
        return list(self._db.execute(_in_dialect(query), values))


@cache
def _in_dialect(query: str) -> str:
    """
    >>> _in_dialect("SELECT 1 WHERE a = :a_b")
    'SELECT 1 WHERE a = %(a_b)s'
    """
    return _NAME.sub(r"%(\1)s", query)


def _without_password(url: str) -> str:
    """
    >>> _without_password("postgresql://me:secret@host/db")
    'postgresql://me@host/db'
    """
    start, at, rest = url.partition("@")
    scheme, slashes, name = start.partition("//")
    user = name.partition(":")[0]
    return url if not at or "/" in user else f"{scheme}{slashes}{user}@{rest}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class PostgresCatalog(SqlCatalog):
    """The catalog in PostgreSQL, for managers of many nodes.

    Opened by a URL like ``postgresql://user@host/database``.
    """

    def __init__(self, url: str) -> None:
        super().__init__(PostgresDatabase(url))
