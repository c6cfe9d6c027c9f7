"""Stores the pages of a site run, and counts them.

A page is stored together with the journal entry that settles its URL. The counters include it once
it is durable (`commits`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import structs

from headgate.crawling.commits import Commits
from headgate.crawling.focusing import Focusing
from headgate.crawling.ports import SiteStore
from headgate.crawling.progress import Landed, Progress
from headgate.frontier.journal import JournalEntry
from headgate.frontier.site_parts import Mine, all_mine
from headgate.model.fetch import FailureKind, Fetched, FetchFailure
from headgate.model.left_out import MOST_EXAMPLES, LeftOut
from headgate.model.page import Page, Role
from headgate.model.store_rule import StoreRule

__all__ = ["Storing"]


class Storing:
    """Of one site run, in one store."""

    def __init__(
        self,
        store: SiteStore,
        commit: Callable[[], Awaitable[object]] | None,
        progress: Progress,
        rule: StoreRule | None = None,
        mine: Mine = all_mine,
    ) -> None:
        """``commit`` commits the store together with others; None: it is committed by itself.
        ``rule`` says which pages are stored; None: all. ``mine`` gives those of
        the URLs found that this run will fetch."""
        self._store = store
        self._rule = rule
        self._mine = mine
        self._not_kept = LeftOut(0)
        self._progress = progress
        self._landed = Landed()
        store_all = commit or partial(asyncio.to_thread, store.commit)
        self.commits = Commits(store, store_all, self._landed, progress)

    def recount(self, focus: Focusing | None) -> None:
        """Count what an interrupted run had stored."""
        progress = self._progress
        for row in self._store.pages():
            progress.fetches += 1
            self._landed.count(
                row.role, row.status, row.error, row.payload_bytes, unchanged=row.unchanged
            )
            if row.error == FailureKind.NOT_STORED:
                self._not_kept = LeftOut(self._not_kept.count + 1)
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

    @property
    def left_out(self) -> dict[str, LeftOut]:
        """Pages that were fetched but are not stored."""
        return {FailureKind.NOT_STORED: self._not_kept} if self._not_kept.count else {}

    def kept(self, page: Page) -> Page:
        """What is to be stored of a page: only its row if the site's rule excludes it."""
        fetched = page.outcome
        if self._rule is None or not isinstance(fetched, Fetched) or fetched.status >= 300:
            return page
        kind = fetched.header("content-type") or ""
        if self._rule.keeps(fetched.url, kind, len(fetched.payload)):
            return page
        examples = (*self._not_kept.examples, fetched.url)[:MOST_EXAMPLES]
        self._not_kept = LeftOut(self._not_kept.count + 1, examples)
        row = FetchFailure(
            fetched.url, FailureKind.NOT_STORED, kind,
            fetched.wall_time, fetched.seconds, fetched.wire_bytes,
        )  # fmt: skip
        return structs.replace(page, outcome=row, earlier=None)

    def settled(self, page: Page) -> None:
        """Count a page; its entry is put at the same time."""
        self._count(page)
        self._progress.growth.came(page.depth, page.outcome.wire_bytes)

    def put(self, entry: JournalEntry, page: Page | None = None) -> None:
        """Store an entry, with ``page`` if it is the one that the entry settles."""
        self.note_growth(entry)
        if page is not None and entry.url == page.outcome.url:
            self._store.put(page, entry)
        else:
            self._store.record(entry)
        self.commits.given()

    def note_growth(self, entry: JournalEntry) -> None:
        """Of what is recorded, now or before an interruption."""
        if entry.found and self._mine is not all_mine:
            entry = structs.replace(entry, found=self._mine(entry.found))
        self._progress.growth.note(entry)

    async def put_other(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        """Store what is no page, such as robots.txt."""
        await self.commits.room()
        page = Page(outcome, 0, role=role)
        self._count(page)
        self._store.put(page)
        self.commits.given()

    def _count(self, page: Page) -> None:
        self._progress.fetches += 1
        outcome, count = page.outcome, partial(self._landed.count, page.role)
        if isinstance(outcome, Fetched):
            count(outcome.status, "", len(outcome.payload), unchanged=page.unchanged)
        else:
            count(0, outcome.kind.value, 0, unchanged=False)
