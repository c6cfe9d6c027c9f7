"""The columns of ``pages.parquet`` and ``links.parquet``: their names, kinds and values.

Absent values are null, never empty. docs/collection.md explains them; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from headgate.storage.page import PageRow
from headgate.storage.tables.plain_parquet import Kind
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


PAGE_COLUMNS: dict[str, tuple[Kind, Callable[[PageRow], Any]]] = {
    "url": (Kind.TEXT, attrgetter("url")),
    "role": (Kind.TEXT, attrgetter("role")),
    "status": (Kind.INT16, _present("status")),
    "content_type": (Kind.TEXT, _present("content_type")),
    "depth": (Kind.INT32, attrgetter("depth")),
    "bytes": (Kind.INT64, attrgetter("payload_bytes")),
    "wire_bytes": (Kind.INT64, attrgetter("wire_bytes")),
    "first_byte_seconds": (Kind.DOUBLE, _present("first_byte_seconds")),
    "seconds": (Kind.DOUBLE, attrgetter("seconds")),
    "fetched_at": (Kind.MOMENT, _moment("fetched_at")),
    "digest": (Kind.TEXT, _digest),
    "title": (Kind.TEXT, _present("title")),
    "language": (Kind.TEXT, _present("language")),
    "location": (Kind.TEXT, _present("location")),
    "etag": (Kind.TEXT, _present("etag")),
    "last_modified": (Kind.TEXT, _present("last_modified")),
    "original_url": (Kind.TEXT, _present("original_url")),
    "original_at": (Kind.MOMENT, _moment("original_at")),
    "truncated": (Kind.TEXT, _present("truncated")),
    "warc_file": (Kind.TEXT, attrgetter("warc_file")),
    "warc_offset": (Kind.INT64, attrgetter("warc_offset")),
    "warc_length": (Kind.INT64, attrgetter("warc_length")),
    "error": (Kind.TEXT, _present("error")),
    "error_detail": (Kind.TEXT, _present("error_detail")),
    "relevance": (Kind.FLOAT, attrgetter("relevance")),
    "original_file": (Kind.TEXT, _present("original_file")),
    "original_offset": (Kind.INT64, lambda row: row.original_offset if row.original_url else None),
    "visit": (Kind.INT32, _present("visit")),
}
"""Beside ``site``, which comes first."""
LINK_COLUMNS = {
    "site": Kind.TEXT,
    "source": Kind.TEXT,
    "target": Kind.TEXT,
    "rel": Kind.TEXT,
    "depth": Kind.INT32,
}
