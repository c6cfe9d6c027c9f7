"""``pages.parquet`` and ``links.parquet``: one row per fetch, one row per link.

During the run the rows live in the sites' journals, where a crash cannot hurt them; here they are
turned into columns at its end, a row group at a time, so that memory stays bounded. Absent values
are null, never empty. The columns are explained in docs/collection.md; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.storage.faults import writing
from headgate.storage.journal import PageLinks
from headgate.storage.page import PageRow
from headgate.storage.records import digest_text

__all__ = ["LINKS_SCHEMA", "PAGES_SCHEMA", "write_links", "write_pages"]

_PAGES_PER_GROUP = 5_000
_LINKS_PER_GROUP = 50_000
# Arrow's own allocator kept 30 MB more at the peak and was no faster.
pa.set_memory_pool(pa.system_memory_pool())
_NAMES = pa.dictionary(pa.int32(), pa.string())
_MOMENT = pa.timestamp("ms", tz="UTC")


def _present(name: str) -> Callable[[PageRow], Any]:
    """Null where the row has nothing."""
    get = attrgetter(name)
    return lambda row: get(row) or None


def _moment(name: str) -> Callable[[PageRow], int | None]:
    get = attrgetter(name)
    return lambda row: round(get(row) * 1000) or None


def _digest(row: PageRow) -> str | None:
    return digest_text(row.digest) if row.digest else None


_PAGE_COLUMNS: dict[str, tuple[pa.DataType, Callable[[PageRow], Any]]] = {
    "url": (pa.string(), attrgetter("url")),
    "role": (pa.string(), attrgetter("role")),
    "status": (pa.int16(), _present("status")),
    "content_type": (pa.string(), _present("content_type")),
    "depth": (pa.int32(), attrgetter("depth")),
    "bytes": (pa.int64(), attrgetter("payload_bytes")),
    "wire_bytes": (pa.int64(), attrgetter("wire_bytes")),
    "first_byte_seconds": (pa.float64(), _present("first_byte_seconds")),
    "seconds": (pa.float64(), attrgetter("seconds")),
    "fetched_at": (_MOMENT, _moment("fetched_at")),
    "digest": (pa.string(), _digest),
    "title": (pa.string(), _present("title")),
    "language": (pa.string(), _present("language")),
    "location": (pa.string(), _present("location")),
    "etag": (pa.string(), _present("etag")),
    "last_modified": (pa.string(), _present("last_modified")),
    "original_url": (pa.string(), _present("original_url")),
    "original_at": (_MOMENT, _moment("original_at")),
    "truncated": (pa.string(), _present("truncated")),
    "warc_file": (pa.string(), attrgetter("warc_file")),
    "warc_offset": (pa.int64(), attrgetter("warc_offset")),
    "warc_length": (pa.int64(), attrgetter("warc_length")),
    "error": (pa.string(), _present("error")),
    "error_detail": (pa.string(), _present("error_detail")),
    "relevance": (pa.float32(), attrgetter("relevance")),
}
PAGES_SCHEMA = pa.schema(
    {"site": pa.string(), **{name: kind for name, (kind, _) in _PAGE_COLUMNS.items()}}
)
LINKS_SCHEMA = pa.schema(
    {"site": _NAMES, "source": _NAMES, "target": pa.string(), "rel": _NAMES, "depth": pa.int32()}
)


def write_pages(path: Path, sites: Iterable[tuple[str, Iterable[PageRow]]]) -> None:
    """All rows of all sites."""
    _write(path, PAGES_SCHEMA, (batch for site, rows in sites for batch in _pages(site, rows)))


def write_links(path: Path, sites: Iterable[tuple[str, Iterable[PageLinks]]]) -> None:
    """All links of all sites."""
    _write(path, LINKS_SCHEMA, (batch for site, links in sites for batch in _links(site, links)))


def _write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with (
        writing(path),
        # Without Arrow's own schema inside, every reader sees plain strings.
        pq.ParquetWriter(path, schema, compression="zstd", store_schema=False) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)


def _pages(site: str, rows: Iterable[PageRow]) -> Iterator[pa.RecordBatch]:
    remaining = iter(rows)
    while group := list(islice(remaining, _PAGES_PER_GROUP)):
        columns = [
            pa.array([get(row) for row in group], kind) for kind, get in _PAGE_COLUMNS.values()
        ]
        sites = pa.repeat(pa.scalar(site), len(group))
        yield pa.record_batch([sites, *columns], schema=PAGES_SCHEMA)


def _links(site: str, pages: Iterable[PageLinks]) -> Iterator[pa.RecordBatch]:
    for group in _bounded(pages):
        targets = pc.split_pattern(pa.array([page.targets for page in group], pa.string()), "\n")
        counts = np.diff(targets.offsets.to_numpy())
        total = int(counts.sum())
        columns = [
            pa.DictionaryArray.from_arrays(np.zeros(total, np.int32), pa.array([site])),
            pa.DictionaryArray.from_arrays(
                np.repeat(np.arange(len(group), dtype=np.int32), counts),
                pa.array([page.source for page in group], pa.string()),
            ),
            targets.flatten(),
            _rels(group, total),
            np.repeat(np.fromiter((page.depth for page in group), np.int32, len(group)), counts),
        ]
        yield pa.record_batch(columns, schema=LINKS_SCHEMA)


def _bounded(pages: Iterable[PageLinks]) -> Iterator[list[PageLinks]]:
    """Pages gathered until their links make a row group."""
    group: list[PageLinks] = []
    total = 0
    for page in pages:
        group.append(page)
        total += page.targets.count("\n") + 1
        if total >= _LINKS_PER_GROUP:
            yield group
            group, total = [], 0
    if group:
        yield group


def _rels(group: Sequence[PageLinks], total: int) -> pa.Array:
    if not any(page.rels for page in group):
        return pa.nulls(total, _NAMES)
    lines = [page.rels or "\n" * page.targets.count("\n") for page in group]
    rels = pc.split_pattern(pa.array(lines, pa.string()), "\n").flatten()
    return pc.if_else(pc.equal(rels, ""), None, rels).dictionary_encode()
