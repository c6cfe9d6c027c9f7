"""The states of pages in runs, one for each look.

A finished run is read from its table, an unfinished one from its journals."""

from __future__ import annotations

from base64 import b32decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.model.errors import WorldFault
from headgate.model.fetch import Fetched
from headgate.storage.collection import RunFolder
from headgate.storage.journals.run_journals import site_journals
from headgate.storage.page import PageRow
from headgate.storage.safe_files import archived_file, opened, reading
from headgate.storage.warc.records import read_response

__all__ = ["GONE", "THERE", "PageState", "page_states", "read_body", "state_of"]

GONE = (404, 410)
THERE = (200, 304)
_COLUMNS = (
    "site", "url", "role", "status", "title", "fetched_at", "digest", "content_type",
    "original_url", "original_file", "original_offset", "warc_file", "warc_offset",
)  # fmt: skip
_BATCH = 5_000


def page_states(run: RunFolder, site: str | None = None) -> Iterator[tuple[str, str, PageState]]:
    """Site, URL and state of each look that found the page present or gone; other answers are left
    out. Unordered."""
    if (run.path / "pages.parquet").is_file():
        yield from _from_table(run, site)
        return
    for owner, journal in site_journals(run).items():
        if site in (None, owner.site):
            for rows in journal.pages():
                for row in rows:
                    if row.role == "page" and row.status in THERE + GONE and row.fetched_at:
                        yield owner.site, row.url, _of_row(run, row)


def _from_table(run: RunFolder, site: str | None) -> Iterator[tuple[str, str, PageState]]:
    path = run.path / "pages.parquet"
    try:
        with reading(path), opened(path) as file, pq.ParquetFile(file) as table:
            for batch in table.iter_batches(_BATCH, columns=list(_COLUMNS)):
                wanted = pc.equal(batch.column("role"), "page")
                if site is not None:
                    wanted = pc.and_(wanted, pc.equal(batch.column("site"), site))
                for row in batch.filter(wanted).to_pylist():
                    if row["status"] in THERE + GONE and row["fetched_at"] is not None:
                        yield row["site"], row["url"], state_of(run, row)
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        raise WorldFault(
            f"cannot read {path}: {error}; put the file back or move it away"
        ) from None


def state_of(run: RunFolder, row: dict[str, Any]) -> PageState:
    """The state in a row of ``pages.parquet``."""
    there = row["status"] in THERE and row["digest"]
    if row["original_file"]:
        file, offset, url = row["original_file"], row["original_offset"], row["original_url"]
    else:
        file, offset, url = f"{run.shelf}/{row['warc_file']}", row["warc_offset"], row["url"]
    return PageState(
        row["fetched_at"].timestamp(),
        row["title"] or "",
        content_type=row["content_type"] or "",
        digest=b32decode(row["digest"].removeprefix("sha1:")) if there else b"",
        file=file,
        offset=offset,
        record_url=url,
    )


def _of_row(run: RunFolder, row: PageRow) -> PageState:
    if row.original_file:
        file, offset, url = row.original_file, row.original_offset, row.original_url
    else:
        file, offset, url = f"{run.shelf}/{row.warc_file}", row.warc_offset, row.url
    digest = row.digest if row.status in THERE else b""
    return PageState(
        row.fetched_at,
        row.title,
        content_type=row.content_type,
        digest=digest,
        file=file,
        offset=offset,
        record_url=url,
    )


class PageState(NamedTuple):
    """The state of a page at one look, and its body in the archive.

    The state of a page at one look.
    """

    seen_at: float
    title: str
    content_type: str
    digest: bytes
    """Empty: it was gone."""
    file: str
    """WARC file within the collection; the record is at ``offset``, archived under
    ``record_url``."""
    offset: int
    record_url: str

    @property
    def there(self) -> bool:
        return bool(self.digest)


def read_body(collection: Path, url: str, state: PageState) -> Fetched | None:
    """The archived response; None: it is not available."""
    file = archived_file(collection, state.file)
    if file is None:
        return None
    return read_response(file, state.offset, url, state.digest)
