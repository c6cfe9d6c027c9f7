"""Rows of a run's Parquet tables: read by the thousand, chosen by a condition, exported, as
values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from headgate.model.encoding import harmless_json
from headgate.model.errors import UserMistake, WorldFault
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.runs import file_of_run, is_survey
from headgate.storage.safe_files import opened
from headgate.storage.sealing import write_run_table

__all__ = [
    "RowCondition",
    "Rows",
    "flat_rows",
    "run_table",
    "stored_rows",
    "unfinished_remark",
    "write_rows",
]

_ROWS_AT_ONCE = 4096
_OBEYED = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}]"
"""Control characters except tab and line feed, which a quoted CSV field may contain."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a run's Parquet tables, in batches of some thousand with their schema.

    Text formats write times as ISO 8601 in UTC, ``2026-11-15T19:20:03.125Z``, and digests as in the
    table. A missing value is null in JSON and empty in CSV (an empty text would be ``""``). Lists
    and maps are JSON in CSV. A title may contain control characters: JSON escapes them, CSV
    replaces them by �.
    """

    schema: pa.Schema
    batches: Iterator[pa.Table]


@contextmanager
def reading_rows(source: Path) -> Iterator[None]:
    """Around everything that reads a table: a damaged one is reported."""
    try:
        yield
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        raise UserMistake(f"{source} is damaged: {str(error).splitlines()[0]}") from None


def stored_rows(source: Path) -> Rows:
    """The rows of a Parquet file."""
    with reading_rows(source), opened(source) as file, pq.ParquetFile(file) as table:
        schema = table.schema_arrow.remove_metadata()
    return Rows(schema, _batches(source))


def _batches(source: Path) -> Iterator[pa.Table]:
    with opened(source) as file, reading_rows(source), pq.ParquetFile(file) as table:
        for batch in table.iter_batches(_ROWS_AT_ONCE):
            yield pa.Table.from_batches([batch]).replace_schema_metadata()


def write_rows(rows: Rows, form: str, target: IO[bytes]) -> None:
    """As one of `_WRITERS`."""
    _WRITERS[form](rows, target)


def _write_csv(rows: Rows, target: IO[bytes]) -> None:
    schema = flat_rows(rows.schema.empty_table()).schema
    with pa_csv.CSVWriter(pa.PythonFile(target, "w"), schema) as writer:
        for some in rows.batches:
            writer.write_table(_harmless(flat_rows(some)))


def _write_jsonl(rows: Rows, target: IO[bytes]) -> None:
    encoder = msgspec.json.Encoder()
    for some in rows.batches:
        lines = encoder.encode_lines(moments_as_text(some).to_pylist(maps_as_pydicts="lossy"))
        target.write(harmless_json(lines))


def _write_parquet(rows: Rows, target: IO[bytes]) -> None:
    with pq.ParquetWriter(target, rows.schema, compression="zstd") as writer:
        for some in rows.batches:
            writer.write_table(some)


_WRITERS = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}


def _harmless(rows: pa.Table) -> pa.Table:
    for place, field in enumerate(rows.schema):
        if pa.types.is_string(field.type):
            text = pc.replace_substring_regex(rows.column(place), _OBEYED, "�")
            rows = rows.set_column(place, field.name, text)
    return rows


_ALLOWED = frozenset((
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
))  # fmt: skip


class RowCondition:
    """A condition on rows of a table, in SQL: ``status = 200 and url like '%/docs/%'``.

    SQLite evaluates it, on batches of rows in an in-memory table, so that all of its functions and
    comparison rules apply: ``like`` ignores the case of ASCII letters. Times are text, which sorts
    as time does: ``fetched_at >= '2026-11-15'``. An authorizer allows nothing but reading those
    rows.

    The condition of ``--where``; without text, all rows meet it.
    """

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        """Raises `UserMistake` if it is not a condition on these columns."""
        self._text = text
        self._columns = list(columns)
        if text:
            self._numbers([])

    def matching(self, rows: pa.Table) -> pa.Table:
        """The rows that meet it, in order."""
        if not self._text:
            return rows
        values = [column.to_pylist() for column in flat_rows(rows.select(self._columns)).columns]
        return rows.take(pa.array(self._numbers(list(zip(*values, strict=True))), pa.int64()))

    def _numbers(self, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        names = ", ".join(f'"{name}"' for name in self._columns)
        marks = ", ".join("?" * len(self._columns))
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            database.execute(f"CREATE TABLE rows ({names})")
            database.execute("BEGIN")
            database.executemany(f"INSERT INTO rows VALUES ({marks})", rows)
            database.execute("COMMIT")
            database.set_authorizer(_authorise)
            try:
                found = database.execute(
                    f"SELECT rowid - 1 FROM rows WHERE ({self._text}\n) ORDER BY rowid"
                ).fetchall()
            except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
                raise UserMistake(
                    f"where {self._text!r}: {error}; it is a condition in SQL on"
                    f" {', '.join(self._columns)}"
                ) from None
        return [number for (number,) in found]


def _authorise(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


# The Parquet tables of a run, also of one that is not finished.


def unfinished_remark(run: RunFolder) -> str:
    """A remark for readers of its tables; empty: the run is finished."""
    if not run.unfinished or is_survey(run):
        return ""
    state = "under way" if Collection(run.collection).in_use else "not finished"
    return f"run {run.stamp} is {state}; this is what it stored"


@contextmanager
def run_table(run: RunFolder, table: str) -> Iterator[Path]:
    """The run's file, or a temporary one with what an unfinished crawl has stored so far."""
    if run.unfinished and not is_survey(run):
        with TemporaryDirectory() as folder:
            part = Path(folder) / f"{table}.parquet"
            try:
                write_run_table(run, table, part)
            except WorldFault:
                if run.unfinished:
                    raise  # else it has finished meanwhile, and has its own file
            else:
                yield part
                return
    yield file_of_run(run, f"{table}.parquet")


# Rows of a table as plain values: numbers and text.


def moments_as_text(rows: pa.Table) -> pa.Table:
    """The rows with times as ISO 8601 in UTC, ``2026-11-15T19:20:03.125Z``."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            text = pc.strftime(rows.column(place), format="%Y-%m-%dT%H:%M:%SZ")
            rows = rows.set_column(place, field.name, text)
    return rows


def flat_rows(rows: pa.Table) -> pa.Table:
    """The rows with times as text, and lists and maps as JSON."""
    rows = moments_as_text(rows)
    for place, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type):
            values = rows.column(place).to_pylist(maps_as_pydicts="lossy")
            texts = [msgspec.json.encode(value).decode() for value in values]
            rows = rows.set_column(place, field.name, pa.array(texts, pa.string()))
    return rows
