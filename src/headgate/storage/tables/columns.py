"""The columns of ``pages.parquet`` and ``links.parquet``: their names, kinds and values.

Absent values are null, never empty. docs/collection.md explains them; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from headgate.storage.page import PageRow
from headgate.storage.tables.plain_parquet import ColumnType
from headgate.storage.warc.records import digest_text

__all__ = ["LINK_COLUMNS", "PAGE_COLUMNS"]


def _present(name: str) -> Callable[[PageRow], Any]:
    """Null if the row has no value."""
    get = attrgetter(name)
    return lambda row: get(row) or None


def _moment(name: str) -> Callable[[PageRow], int | None]:
    get = attrgetter(name)
    return lambda row: round(get(row) * 1000) or None


def _digest(row: PageRow) -> str | None:
    return digest_text(row.digest) if row.digest else None


PAGE_COLUMNS: dict[str, tuple[ColumnType, Callable[[PageRow], Any]]] = {
    "url": (ColumnType.TEXT, attrgetter("url")),
    "role": (ColumnType.TEXT, attrgetter("role")),
    "status": (ColumnType.INT16, _present("status")),
    "content_type": (ColumnType.TEXT, _present("content_type")),
    "depth": (ColumnType.INT32, attrgetter("depth")),
    "bytes": (ColumnType.INT64, attrgetter("payload_bytes")),
    "wire_bytes": (ColumnType.INT64, attrgetter("wire_bytes")),
    "first_byte_seconds": (ColumnType.DOUBLE, _present("first_byte_seconds")),
    "seconds": (ColumnType.DOUBLE, attrgetter("seconds")),
    "fetched_at": (ColumnType.MOMENT, _moment("fetched_at")),
    "digest": (ColumnType.TEXT, _digest),
    "title": (ColumnType.TEXT, _present("title")),
    "language": (ColumnType.TEXT, _present("language")),
    "location": (ColumnType.TEXT, _present("location")),
    "etag": (ColumnType.TEXT, _present("etag")),
    "last_modified": (ColumnType.TEXT, _present("last_modified")),
    "original_url": (ColumnType.TEXT, _present("original_url")),
    "original_at": (ColumnType.MOMENT, _moment("original_at")),
    "truncated": (ColumnType.TEXT, _present("truncated")),
    "warc_file": (ColumnType.TEXT, attrgetter("warc_file")),
    "warc_offset": (ColumnType.INT64, attrgetter("warc_offset")),
    "warc_length": (ColumnType.INT64, attrgetter("warc_length")),
    "error": (ColumnType.TEXT, _present("error")),
    "error_detail": (ColumnType.TEXT, _present("error_detail")),
    "relevance": (ColumnType.FLOAT, attrgetter("relevance")),
    "original_file": (ColumnType.TEXT, _present("original_file")),
    "original_offset": (
        ColumnType.INT64,
        lambda row: row.original_offset if row.original_url else None,
    ),
    "visit": (ColumnType.INT32, _present("visit")),
}
"""Beside ``site``, which comes first."""
LINK_COLUMNS = {
    "site": ColumnType.TEXT,
    "source": ColumnType.TEXT,
    "target": ColumnType.TEXT,
    "rel": ColumnType.TEXT,
    "depth": ColumnType.INT32,
}
