"""A page of a collection for users of the Python API: read from the archive on demand, and
decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from headgate.crawling.page_reader import is_html
from headgate.model.errors import WorldFault
from headgate.model.fetch import Fetched
from headgate.reading.charset import decode
from headgate.reading.content_coding import decode_content
from headgate.reading.links import LinkOptions, page_links
from headgate.reading.page_text import page_lines
from headgate.storage.collection import RunFolder
from headgate.storage.page import PageRow
from headgate.storage.page_states import GONE, THERE, read_body
from headgate.storage.tables.columns import PAGE_COLUMNS
from headgate.storage.tables.plain_parquet import ColumnType
from headgate.storage.tables.rows import RowCondition, Rows, run_table, stored_rows

__all__ = ["StoredPage", "UnreadablePage", "page_versions"]

_MOST_BYTES = 64_000_000
"""Of a body without its coding."""
_WITH_TEXTS = LinkOptions(texts=True)
_TEXT = ("text/", "application/json", "application/xml")


class UnreadablePage(WorldFault):
    """The archived copy of a page is damaged or missing."""


class StoredPage:
    """One version of a page.

    Columns of the tables are available at once. ``headers``, ``body`` and all that is derived from
    it are read on first access, and raise `UnreadablePage` if the archive is damaged."""

    def __init__(self, collection: Path, row: Mapping[str, Any]) -> None:
        self._collection = collection
        self.row = row
        """All columns of ``pages.parquet``, and the ``run``."""

    @classmethod
    def from_row(cls, run: RunFolder, site: str, row: PageRow) -> StoredPage:
        """From a row of a journal."""
        columns = {name: _plain(kind, get(row)) for name, (kind, get) in PAGE_COLUMNS.items()}
        return cls(run.collection, {"run": run.stamp, "site": site, **columns})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url} {self.fetched:%Y-%m-%dT%H:%M:%SZ}>"

    @property
    def url(self) -> str:
        return str(self.row["url"])

    @property
    def site(self) -> str:
        return str(self.row["site"])

    @property
    def fetched(self) -> datetime:
        """In UTC."""
        moment: datetime = self.row["fetched_at"]
        return moment

    @property
    def title(self) -> str:
        return self.row["title"] or ""

    @property
    def content_type(self) -> str:
        return self.row["content_type"] or self.headers.get("content-type", "")

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response with the body; names in lower case, repeated ones joined."""
        headers: dict[str, str] = {}
        for name, value in self._response.headers:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return headers

    @cached_property
    def body(self) -> bytes:
        """Without content coding."""
        response = self._response
        return decode_content(response.payload, response.coding, _MOST_BYTES).data

    @property
    def is_html(self) -> bool:
        return is_html(self.content_type, self.body)

    @property
    def html(self) -> str:
        """The decoded HTML; empty for other media types."""
        return decode(self.body, self.content_type) if self.is_html else ""

    @property
    def text(self) -> str:
        """The visible text of HTML, a line for each block; all of other text; else empty."""
        if self.is_html:
            return "\n".join(page_lines(self.html))
        plain = self.content_type.lower().startswith(_TEXT)
        return decode(self.body, self.content_type) if plain else ""

    @property
    def links(self) -> tuple[str, ...]:
        """Absolute URLs in normal form, in page order, without repetition."""
        if not self.is_html:
            return ()
        return page_links(self.body, self._response.url, self.content_type).urls

    @property
    def anchors(self) -> dict[str, str]:
        """The text of the first link to each URL, where it has one."""
        if not self.is_html:
            return {}
        return page_links(self.body, self._response.url, self.content_type, _WITH_TEXTS).texts

    @cached_property
    def _response(self) -> Fetched:
        run = RunFolder(self._collection, self.row["run"])
        from headgate.storage.page_states import state_of  # it loads Arrow

        state = state_of(run, dict(self.row))
        response = read_body(self._collection, self.url, state)
        if response is None:
            raise UnreadablePage(
                f"{self.url}: its record in {state.file} at {state.offset} is damaged or not there"
            )
        return response


def _plain(kind: ColumnType, value: Any) -> Any:
    """Moments are milliseconds in a table."""
    if kind is ColumnType.MOMENT and value is not None:
        return datetime.fromtimestamp(value / 1000, UTC)
    return value


def page_versions(runs: Sequence[RunFolder], where: str = "", *, every: bool = False) -> Rows:
    """Versions of pages over several runs: the newest of each, or every look that found it.

    A page is present if the answer was 200, or 304 for the version before; 404 and 410 say that it
    is gone, and hide earlier versions. Other answers, or none, are ignored. Memory: some 200 bytes
    per page of the collection for newest versions, none for all.

    Rows of ``pages.parquet``, with a first column ``run``.

    ``runs`` are newest first, and so are the rows; ``every`` version, or the newest of each page.
    ``where`` selects among these.
    """
    from headgate.storage.tables.arrow_tables import PAGES_SCHEMA

    schema = pa.schema([pa.field("run", pa.string()), *PAGES_SCHEMA]).remove_metadata()
    condition = RowCondition(where, schema.names)
    return Rows(schema, _matching(runs, condition, schema, None if every else set()))


def _matching(
    runs: Sequence[RunFolder], condition: RowCondition, schema: pa.Schema, seen: set[int] | None
) -> Iterator[pa.Table]:
    for run in runs:
        with run_table(run, "pages") as path:
            newest = None if seen is None else _newest(path, seen)
            first = 0
            for rows in stored_rows(path).batches:
                wanted = pc.and_(
                    _pages(rows), pc.is_in(rows["status"], pa.array(THERE, pa.int16()))
                )
                if newest is not None:
                    chosen = [first + place in newest for place in range(len(rows))]
                    wanted = pc.and_(wanted, pa.array(chosen, pa.bool_()))
                first += len(rows)
                found = rows.filter(wanted)
                stamps = pa.array([run.stamp] * len(found), pa.string())
                named = found.add_column(0, "run", stamps).select(schema.names).cast(schema)
                yield condition.matching(named)


def _newest(path: Path, seen: set[int]) -> set[int]:
    """Numbers of rows with the newest look at each page not yet in ``seen``; adds those pages to
    it."""
    looks: dict[int, tuple[object, int]] = {}
    number = 0
    for rows in stored_rows(path).batches:
        told = pc.is_in(rows["status"], pa.array(THERE + GONE, pa.int16()))
        wanted = pc.and_(_pages(rows), told).to_pylist()
        values = (rows[name].to_pylist() for name in ("site", "url", "fetched_at"))
        for tells, site, url, at in zip(wanted, *values, strict=True):
            if tells and at is not None:
                page = xxhash.xxh3_128_intdigest(f"{site}\n{url}".encode())
                if page not in seen:
                    looks[page] = max(looks.get(page, (at, -1)), (at, number))
            number += 1
    seen.update(looks)
    return {number for _, number in looks.values()}


def _pages(rows: pa.Table) -> pa.ChunkedArray:
    return pc.equal(rows["role"], "page")
