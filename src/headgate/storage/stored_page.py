"""A page of a collection for users of the Python API: read from the archive on demand, and
decoded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from headgate.crawling.page_reading import is_html
from headgate.model.errors import WorldFault
from headgate.model.fetch import Fetched
from headgate.reading.charset import decode
from headgate.reading.content import decode_content
from headgate.reading.links import LinkOptions, page_links
from headgate.reading.page_lines import page_lines
from headgate.storage.collection import RunFolder
from headgate.storage.page import PageRow
from headgate.storage.page_state import read_body
from headgate.storage.tables.columns import PAGE_COLUMNS
from headgate.storage.tables.plain_parquet import Kind

__all__ = ["StoredPage", "UnreadablePage"]

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
    def of(cls, run: RunFolder, site: str, row: PageRow) -> StoredPage:
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


def _plain(kind: Kind, value: Any) -> Any:
    """Moments are milliseconds in a table."""
    if kind is Kind.MOMENT and value is not None:
        return datetime.fromtimestamp(value / 1000, UTC)
    return value
