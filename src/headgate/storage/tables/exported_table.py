"""Rows of a run's Parquet tables, some thousand at a time, and exports of them in other formats.

Text formats write times as ISO 8601 in UTC, ``2026-11-15T19:20:03.125Z``, and digests as in the
table. A missing value is null in JSON and empty in CSV (an empty text would be ``""``). Lists and
maps are JSON in CSV. A title may contain control characters: JSON escapes them, CSV replaces them
by �.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from headgate.model.errors import UserMistake
from headgate.model.harmless_json import harmless_json
from headgate.storage.own_files import opened
from headgate.storage.tables.plain_rows import flat_rows, moments_as_text

__all__ = ["Rows", "reading_rows", "stored_rows", "write_rows"]

_ROWS_AT_ONCE = 4096
_OBEYED = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}]"
"""Control characters except tab and line feed, which a quoted CSV field may contain."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Batches of rows with their schema."""

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
    """As "csv", "jsonl" or "parquet"."""
    if form == "csv":
        _write_csv(rows, target)
    elif form == "jsonl":
        _write_jsonl(rows, target)
    else:
        _write_parquet(rows, target)


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


def _harmless(rows: pa.Table) -> pa.Table:
    for place, field in enumerate(rows.schema):
        if pa.types.is_string(field.type):
            text = pc.replace_substring_regex(rows.column(place), _OBEYED, "�")
            rows = rows.set_column(place, field.name, text)
    return rows
