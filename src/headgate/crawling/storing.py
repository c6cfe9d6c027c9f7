"""What a site run gives to its store, counted in the same moment.

A page goes together with the journal entry that settles its URL. The counters tell of it once it is
durable (`commits`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from headgate.crawling.commits import Commits
from headgate.crawling.focusing import Focusing
from headgate.crawling.ports import SiteStore
from headgate.crawling.progress import Landed, Progress
from headgate.frontier.journal import JournalEntry
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Page, Role

__all__ = ["Storing"]


class Storing:
    """Of one site run, in one store."""

    def __init__(
        self,
        store: SiteStore,
        commit: Callable[[], Awaitable[object]] | None,
        progress: Progress,
    ) -> None:
        """``commit`` commits the store together with others; None: it is committed alone."""
        self._store = store
        self._progress = progress
        self._landed = Landed()
        store_all = commit or partial(asyncio.to_thread, store.commit)
        self.commits = Commits(store, store_all, self._landed, progress)

    def recount(self, focus: Focusing | None) -> None:
        """Count what an interrupted run had stored."""
        progress = self._progress
        for row in self._store.pages():
            self._count(row.role, row.status, row.error, row.payload_bytes)
            progress.wire_bytes += row.wire_bytes
            if row.role == Role.PAGE and not row.error:
                progress.fetch_seconds += row.seconds
                progress.first_byte_seconds += row.first_byte_seconds
            if row.role == Role.PAGE:
                progress.growth.came(row.depth, row.wire_bytes)
            if focus is not None:
                focus.recall(row.relevance)
        progress.keep(self._landed.copy())
        progress.earlier_wire_bytes = progress.wire_bytes

    def settled(self, page: Page) -> None:
        """Count it; its entry is put in the same moment."""
        self._count_outcome(page.outcome, Role.PAGE)
        self._progress.growth.came(page.depth, page.outcome.wire_bytes)

    def put(self, entry: JournalEntry, page: Page | None = None) -> None:
        """With ``page``, if it is the one that the entry settles."""
        self._progress.growth.note(entry)
        if page is not None and entry.url == page.outcome.url:
            self._store.put(page, entry)
        else:
            self._store.record(entry)
        self.commits.given()

    async def put_other(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        """What is no page, such as robots.txt."""
        await self.commits.room()
        self._count_outcome(outcome, role)
        self._store.put(Page(outcome, 0, role=role))
        self.commits.given()

    def _count_outcome(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        if isinstance(outcome, Fetched):
            self._count(role, outcome.status, "", len(outcome.payload))
        else:
            self._count(role, 0, outcome.kind.value, 0)

    def _count(self, role: str, status: int, error: str, payload_bytes: int) -> None:
        self._progress.fetches += 1
        self._landed.count(role, status, error, payload_bytes)
