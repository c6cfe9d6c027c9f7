"""A run's Parquet table in another form, some thousand rows at a time.

Text forms write moments by ISO 8601 in UTC, ``2026-11-15T19:20:03.125Z``, and digests as the table
has them. Where there is no value, CSV has nothing between its commas (an empty text would be
``""``) and JSON has null. What is a list or a table itself stands in CSV as JSON. A title may hold
characters that a terminal obeys: JSON has an escape for them, CSV has none and shows them as �.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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

__all__ = ["write_table"]

_ROWS_AT_ONCE = 4096
_OBEYED = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}]"
"""Control characters but for tab and line feed, which a quoted field of CSV may hold."""


def write_table(source: Path, form: str, target: IO[bytes]) -> None:
    """Write the table in ``source`` as "csv", "jsonl" or "parquet"."""
    try:
        with opened(source) as file, pq.ParquetFile(file) as table:
            if form == "csv":
                _write_csv(table, target)
            elif form == "jsonl":
                _write_jsonl(table, target)
            else:
                file.seek(0)
                shutil.copyfileobj(file, target)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise UserMistake(f"{source} is damaged: {str(error).splitlines()[0]}") from None


def _write_csv(table: pq.ParquetFile, target: IO[bytes]) -> None:
    schema = _flat(_as_text(table.schema_arrow.empty_table())).schema
    with pa_csv.CSVWriter(pa.PythonFile(target, "w"), schema) as writer:
        for rows in _batches(table):
            writer.write_table(_harmless(_flat(rows)))


def _write_jsonl(table: pq.ParquetFile, target: IO[bytes]) -> None:
    encoder = msgspec.json.Encoder()
    for rows in _batches(table):
        lines = encoder.encode_lines(rows.to_pylist(maps_as_pydicts="lossy"))
        target.write(harmless_json(lines))


def _batches(table: pq.ParquetFile) -> Iterator[pa.Table]:
    for batch in table.iter_batches(_ROWS_AT_ONCE):
        yield _as_text(pa.Table.from_batches([batch]))


def _as_text(rows: pa.Table) -> pa.Table:
    """The same rows with moments as text."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            text = pc.strftime(rows.column(place), format="%Y-%m-%dT%H:%M:%SZ")
            rows = rows.set_column(place, field.name, text)
    return rows


def _flat(rows: pa.Table) -> pa.Table:
    """The same rows with lists and maps as JSON."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type):
            values = rows.column(place).to_pylist(maps_as_pydicts="lossy")
            texts = [msgspec.json.encode(value).decode() for value in values]
            rows = rows.set_column(place, field.name, pa.array(texts, pa.string()))
    return rows


def _harmless(rows: pa.Table) -> pa.Table:
    for place, field in enumerate(rows.schema):
        if pa.types.is_string(field.type):
            text = pc.replace_substring_regex(rows.column(place), _OBEYED, "�")
            rows = rows.set_column(place, field.name, text)
    return rows
