"""Anchor texts of links, read from the archived pages for an export.

A crawl does not store them: few users want them, and they make reading every page more expensive.
Links are stored in the order of their pages, so both tables are read in parallel and neither is
held in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.jobs.exporting.text_workers import answers
from headgate.storage.stored_page import StoredPage, UnreadablePage

__all__ = ["AnchorTexts"]

_Row = Mapping[str, Any]
_Texts = dict[str, str] | str
"""Texts by target, or why the page could not be read."""


class AnchorTexts:
    """Finds the anchor texts of links, in order; counts pages that could not be read."""

    def __init__(self, collection: Path) -> None:
        self._collection = collection
        self.unreadable = 0
        self.first_trouble = ""

    def of(
        self, links: Iterable[pa.Table], pages: Iterable[_Row]
    ) -> Iterator[tuple[pa.Table, list[str | None]]]:
        """Batches of links of a run with their texts; ``pages`` are all pages of that run."""
        waiting: deque[tuple[pa.Table, list[list[str]], list[str | None]]] = deque()
        places = _Places(pages)

        def questions() -> Iterator[tuple[Path, _Row | None]]:
            for batch in filter(len, links):
                rows = zip(
                    *(batch.column(name).to_pylist() for name in ("site", "source", "target")),
                    strict=True,
                )
                groups = [
                    (page, [row[2] for row in some])
                    for page, some in groupby(rows, key=lambda row: row[:2])
                ]
                waiting.append((batch, [targets for _, targets in groups], []))
                for page, _ in groups:
                    yield self._collection, places.find(*page)

        for texts in answers(_anchors, questions()):
            batch, groups, found = waiting[0]
            found += self._told(texts, groups.pop(0))
            if not groups:
                yield batch, found
                waiting.popleft()

    def _told(self, texts: _Texts | None, targets: list[str]) -> list[str | None]:
        if isinstance(texts, dict):
            return [texts.get(target) for target in targets]
        self.unreadable += 1
        self.first_trouble = self.first_trouble or texts or "reading a page broke off"
        return [None] * len(targets)


class _Places:
    """Finds rows of pages by one pass, in order."""

    def __init__(self, pages: Iterable[_Row]) -> None:
        self._pages = iter(pages)
        self._row: _Row | None = None

    def find(self, site: str, url: str) -> _Row | None:
        while self._row is None or (self._row["site"], self._row["url"]) != (site, url):
            self._row = next(self._pages, None)
            if self._row is None:
                return None
        return self._row


def _anchors(question: tuple[Path, _Row | None]) -> _Texts:
    """Runs in another process."""
    collection, row = question
    if row is None:
        return "the table of pages does not have the page of a link"
    try:
        return StoredPage(collection, row).anchors
    except UnreadablePage as fault:
        return str(fault)
