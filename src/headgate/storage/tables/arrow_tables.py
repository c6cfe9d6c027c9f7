"""``pages.parquet`` and ``links.parquet`` by Arrow: groups of rows become columns of a file, and a
file's rows are read.

Importing this module takes a quarter of a second and 60 MB; `writing` does so only for many rows.
Arrow's compute functions, and NumPy's masked arrays that it imports when given an array, would take
a third more: writing does without them; lines are split here, and numbers are passed to Arrow as
buffers.
"""

from __future__ import annotations

from base64 import b32decode
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model.errors import WorldFault
from headgate.storage.journals.journal import LinkLines
from headgate.storage.page import PageRow
from headgate.storage.safe_files import opened, reading, writing
from headgate.storage.tables.columns import LINK_COLUMNS, PAGE_COLUMNS
from headgate.storage.tables.plain_parquet import ColumnType

__all__ = [
    "LINKS_SCHEMA",
    "PAGES_SCHEMA",
    "Capture",
    "filter_table",
    "link_groups",
    "page_groups",
    "read_captures",
    "read_pages_of",
]

_READ_AT_ONCE = 5_000
# Arrow's own allocator kept 30 MB more at the peak and was no faster.
pa.set_memory_pool(pa.system_memory_pool())
_NAMES = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    ColumnType.TEXT: pa.string(),
    ColumnType.INT16: pa.int16(),
    ColumnType.INT32: pa.int32(),
    ColumnType.INT64: pa.int64(),
    ColumnType.FLOAT: pa.float32(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.MOMENT: pa.timestamp("ms", tz="UTC"),
}
_ALWAYS = ("url", "role", "depth", "bytes", "wire_bytes", "seconds")
"""Columns without nulls."""
_ABSENT = {
    "status": 0,
    "content_type": "",
    "first_byte_seconds": 0.0,
    "fetched_at": 0.0,
    "digest": "",
}
"""Replaces null where a row must have a value."""
PAGES_SCHEMA = pa.schema(
    {"site": pa.string(), **{name: _TYPES[kind] for name, (kind, _) in PAGE_COLUMNS.items()}}
)
_CAPTURE_COLUMNS = (
    "site", "url", "fetched_at", "status", "digest", "warc_file", "warc_offset", "original_file",
    "original_offset",
)  # fmt: skip
_OFTEN_THE_SAME = ("site", "source", "rel")
_LINE_END = ord("\n")
LINKS_SCHEMA = pa.schema({
    name: _NAMES if name in _OFTEN_THE_SAME else _TYPES[kind]
    for name, kind in LINK_COLUMNS.items()
})  # fmt: skip


@contextmanager
def page_groups(path: Path) -> Iterator[Callable[[Sequence[tuple[str, PageRow]]], None]]:
    """Yields a function that writes rows, each with its site, as a row group."""
    with _table(path, PAGES_SCHEMA) as write:
        yield lambda rows: write(_pages(rows))


@contextmanager
def link_groups(path: Path) -> Iterator[Callable[[Sequence[tuple[str, LinkLines]]], None]]:
    """Yields a function that writes the links of pages, each with its site, as a row group."""
    with _table(path, LINKS_SCHEMA) as write:
        yield lambda pages: write(_links([site for site, _ in pages], [page for _, page in pages]))


def read_pages_of(path: Path, site: str) -> Iterator[PageRow]:
    """The rows of one site, with the table's precision: times in milliseconds."""
    import pyarrow.compute as pc  # here: whoever writes goes without

    try:
        with reading(path), opened(path) as file, pq.ParquetFile(file) as table:
            if not {"site", *_ALWAYS} <= set(table.schema_arrow.names):
                raise WorldFault(f"{path} is no table of pages of ours; move it away")
            groups = [
                number for number in range(table.num_row_groups) if _may_hold(table, number, site)
            ]
            for batch in table.iter_batches(_READ_AT_ONCE, row_groups=groups):
                ours = batch.filter(pc.equal(batch.column("site"), site))
                for values in ours.drop_columns(["site"]).to_pylist():
                    yield _row_of(values)
    except (pa.ArrowException, msgspec.ValidationError, ValueError, TypeError) as error:
        remedy = "put the file back or move it away"
        raise WorldFault(f"cannot read {path}: {error}; {remedy}") from None


class Capture(NamedTuple):
    """The columns of a row of pages or links that decide whether it stays."""

    site: str
    url: str
    """For a link: of the page that contains it."""
    at: float = 0.0
    status: int = 0
    digest: str = ""
    file: str = ""
    offset: int = 0
    original_file: str = ""
    original_offset: int = 0


def read_captures(path: Path, sites: Container[str] | None = None) -> Iterator[Capture]:
    """All rows of a table of pages, or those of some sites."""
    with _opened_table(path) as table:
        wanted = [name for name in _CAPTURE_COLUMNS if name in table.schema_arrow.names]
        for batch in table.iter_batches(_READ_AT_ONCE, columns=wanted):
            for capture in _captures(batch):
                if sites is None or capture.site in sites:
                    yield capture


def filter_table(path: Path, kept: Path, stays: Callable[[Capture], bool]) -> None:
    """Write the rows that stay to another file."""
    with _opened_table(path) as table:
        schema = PAGES_SCHEMA if "url" in table.schema_arrow.names else LINKS_SCHEMA
        with _table(kept, schema) as write:
            for batch in table.iter_batches(_READ_AT_ONCE):
                mask = pa.array([stays(capture) for capture in _captures(batch)], pa.bool_())
                rows = batch.filter(mask)
                if len(rows):
                    write(pa.Table.from_batches([rows]).cast(schema).to_batches()[0])


@contextmanager
def _opened_table(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with reading(path), opened(path) as file, pq.ParquetFile(file) as table:
            if "site" not in table.schema_arrow.names:
                raise WorldFault(f"{path} is no table of ours; move it away")
            yield table
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        remedy = "put the file back or move it away"
        raise WorldFault(f"cannot read {path}: {error}; {remedy}") from None


def _captures(batch: pa.RecordBatch) -> Iterator[Capture]:
    names = batch.schema.names
    if "url" not in names:
        columns = [batch.column(name).to_pylist() for name in ("site", "source")]
        yield from (Capture(site, source) for site, source in zip(*columns, strict=True))
        return
    moments = batch.column("fetched_at").cast(pa.int64()).to_pylist()
    others = [
        batch.column(name).to_pylist() if name in names else [None] * len(batch)
        for name in _CAPTURE_COLUMNS
    ]
    for moment, values in zip(moments, zip(*others, strict=True), strict=True):
        site, url, _, status, digest, file, offset, original, original_offset = values
        yield Capture(
            site,
            url,
            at=(moment or 0) / 1000,
            status=status or 0,
            digest=digest or "",
            file=file or "",
            offset=offset or 0,
            original_file=original or "",
            original_offset=original_offset or 0,
        )


def _may_hold(table: pq.ParquetFile, group: int, site: str) -> bool:
    """Whether a row group may contain rows of a site, by its statistics."""
    column = table.schema_arrow.get_field_index("site")
    bounds = table.metadata.row_group(group).column(column).statistics
    return bounds is None or not bounds.has_min_max or bounds.min <= site <= bounds.max


def _row_of(values: Mapping[str, Any]) -> PageRow:
    fields: dict[str, Any] = dict(_ABSENT)
    for name, value in values.items():
        if value is not None:
            fields[name] = value.timestamp() if isinstance(value, datetime) else value
    fields["payload_bytes"] = fields.pop("bytes")
    fields["digest"] = b32decode(fields["digest"].removeprefix("sha1:"))
    return msgspec.convert(msgspec.structs.astuple(PageRow(**fields)), PageRow)


@contextmanager
def _table(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    with (
        writing(path),
        path.open("wb") as file,  # Arrow would take a name like a:/b for a URL
        # Without Arrow's own schema inside, every reader sees plain strings.
        pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer,
    ):
        yield writer.write_batch


def _pages(rows: Sequence[tuple[str, PageRow]]) -> pa.RecordBatch:
    columns = [
        pa.array([get(row) for _, row in rows], _TYPES[kind]) for kind, get in PAGE_COLUMNS.values()
    ]
    sites = pa.array([site for site, _ in rows], pa.string())
    return pa.record_batch([sites, *columns], schema=PAGES_SCHEMA)


def _links(sites: Sequence[str], pages: Sequence[LinkLines]) -> pa.RecordBatch:
    counts = np.fromiter((page.targets.count("\n") + 1 for page in pages), np.int64, len(pages))
    columns = [
        _chosen(np.repeat(_numbers(sites), counts), list(dict.fromkeys(sites))),
        _chosen(
            np.repeat(np.arange(len(pages), dtype=np.int32), counts),
            [page.source for page in pages],
        ),
        _cut_lines([page.targets for page in pages]),
        _rels(pages, int(counts.sum())),
        _int32(np.repeat(np.fromiter((page.depth for page in pages), np.int32), counts)),
    ]
    return pa.record_batch(columns, schema=LINKS_SCHEMA)


def _cut_lines(texts: Sequence[str]) -> pa.StringArray:
    """All lines of the texts, one string each."""
    octets = np.frombuffer("\n".join(texts).encode(), np.uint8)
    ends = np.flatnonzero(octets == _LINE_END)
    begins = np.zeros(len(ends) + 2, np.int32)
    begins[1:-1] = ends - np.arange(len(ends))
    begins[-1] = len(octets) - len(ends)
    letters = octets[octets != _LINE_END]
    return pa.StringArray.from_buffers(len(ends) + 1, pa.py_buffer(begins), pa.py_buffer(letters))


def _int32(numbers: npt.NDArray[np.int32]) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])


def _chosen(places: npt.NDArray[np.int32], texts: Sequence[str]) -> pa.DictionaryArray:
    """The text of each row, by its index in ``texts``."""
    return pa.DictionaryArray.from_arrays(_int32(places), pa.array(texts, pa.string()))


def _numbers(sites: Sequence[str]) -> npt.NDArray[np.int32]:
    """The index of each name among the distinct ones."""
    places = {site: place for place, site in enumerate(dict.fromkeys(sites))}
    return np.fromiter((places[site] for site in sites), np.int32, len(sites))


def _rels(group: Sequence[LinkLines], total: int) -> pa.Array:
    if not any(page.rels for page in group):
        return pa.nulls(total, _NAMES)
    lines = "\n".join([page.rels or "\n" * page.targets.count("\n") for page in group])
    rels = lines.split("\n")
    names = [rel for rel in dict.fromkeys(rels) if rel]
    place_of = {rel: place for place, rel in enumerate(names)}.get
    places = pa.array([place_of(rel) for rel in rels], pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))
