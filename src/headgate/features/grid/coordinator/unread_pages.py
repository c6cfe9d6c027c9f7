"""Adds titles and links of unchanged pages to the results of nodes.

A node that gets "not modified" has no archive to read the page from. So before tables are made, the
page's title and links are read from the archived response.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus

from msgspec import structs

from headgate.crawling.page_reader import PageReader
from headgate.storage.collection import Collection
from headgate.storage.journals.journal import Commit, LinkLines, Owner
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.page import PageRow

__all__ = ["UnreadPages"]


class UnreadPages:
    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._reader = PageReader()

    def read(self, owner: Owner, commits: Iterable[Commit]) -> Iterator[Commit]:
        """The commits, with titles and links of unchanged pages added."""
        known = KnownPages(self._collection, owner.site)
        try:
            for group, rows, links in commits:
                told = {line.source for line in links}
                found = [self._found(known, row, told) for row in rows]
                more = [lines for _, lines in found if lines is not None]
                yield group, [row for row, _ in found], [*links, *more]
        finally:
            known.close()

    def _found(
        self, known: KnownPages, row: PageRow, told: set[str]
    ) -> tuple[PageRow, LinkLines | None]:
        if row.status != HTTPStatus.NOT_MODIFIED or row.url in told:
            return row, None
        earlier = known.find(row.url)
        if earlier is None or earlier.digest != row.digest:
            return row, None
        stored = known.stored(row.url, earlier)
        if stored is None:
            return row, None
        page = self._reader.read(stored)
        lines = None
        if page.links is not None and page.links.targets:
            lines = LinkLines.of(row.url, row.depth, page.links)
        return structs.replace(row, title=page.title, language=page.language), lines
