"""Rows of a table as plain values: numbers and text."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["flat_rows", "moments_as_text"]


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
