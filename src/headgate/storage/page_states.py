"""The states of pages in runs, one for each look.

A finished run is read from its table, an unfinished one from its journals."""

from __future__ import annotations

from base64 import b32decode
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.model.errors import WorldFault
from headgate.storage.collection import RunFolder
from headgate.storage.faults import reading
from headgate.storage.journals.site_journal import site_journals
from headgate.storage.own_files import opened
from headgate.storage.page import PageRow
from headgate.storage.page_state import PageState

__all__ = ["GONE", "THERE", "page_states", "state_of"]

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
        row["content_type"] or "",
        b32decode(row["digest"].removeprefix("sha1:")) if there else b"",
        file,
        offset,
        url,
    )


def _of_row(run: RunFolder, row: PageRow) -> PageState:
    if row.original_file:
        file, offset, url = row.original_file, row.original_offset, row.original_url
    else:
        file, offset, url = f"{run.shelf}/{row.warc_file}", row.warc_offset, row.url
    digest = row.digest if row.status in THERE else b""
    return PageState(row.fetched_at, row.title, row.content_type, digest, file, offset, url)
