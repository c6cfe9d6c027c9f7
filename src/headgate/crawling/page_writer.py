"""Stores the pages of a site run in batches that are made durable off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from msgspec import structs

from headgate.crawling.focused_crawl import FocusState
from headgate.crawling.ports import SiteStore
from headgate.crawling.progress import FetchCounts, Progress
from headgate.frontier.events import JournalEntry
from headgate.frontier.scope import Mine, all_mine
from headgate.model.fetch import FailureKind, Fetched, FetchFailure
from headgate.model.page import Page, Role
from headgate.model.run_report import MOST_EXAMPLES, LeftOut
from headgate.model.store_rule import StoreRule

__all__ = ["GroupCommit", "PageWriter"]


class PageWriter:
    """Stores the pages of a site run, and counts them.

    A page is stored together with the journal entry that settles its URL. The counters include it
    once it is durable (`commits`).

    Of one site run, in one store.
    """

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
        self._landed = FetchCounts()
        store_all = commit or partial(asyncio.to_thread, store.commit)
        self.commits = Commits(store, store_all, self._landed, progress)

    def recount(self, focus: FocusState | None) -> None:
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
        progress.take_over(self._landed.copy())
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
            fetched.url,
            FailureKind.NOT_STORED,
            detail=kind,
            wall_time=fetched.wall_time,
            seconds=fetched.seconds,
            wire_bytes=fetched.wire_bytes,
        )
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
        self._progress.growth.record(entry)

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


_EVERY_SECONDS = 0.5
_BATCH_BYTES = 4_000_000
_MOST_WAITING_BYTES = 16_000_000


class Commits:
    """Group commit: pages of a site run are made durable in batches, off the event loop.

    A batch is committed when it is old or large enough, so that one sync serves many pages. When
    the disk is slower than the line, `room` makes fetches wait: memory stays bounded.

    The commits of one store, one at a time, and one more at the end.
    """

    def __init__(
        self,
        store: SiteStore,
        store_all: Callable[[], Awaitable[object]],
        landed: FetchCounts,
        progress: Progress,
    ) -> None:
        """``store_all`` commits the store, off the event loop."""
        self._store = store
        self._store_all = store_all
        self._landed = landed
        self._progress = progress
        self._any = asyncio.Event()
        """Something was added since the last commit began."""
        self._wanted = asyncio.Event()
        """So much was added that it should be committed at once."""
        self._committed = asyncio.Condition()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._any.wait()
            try:
                async with asyncio.timeout(_EVERY_SECONDS):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            await self.commit()

    async def commit(self) -> None:
        self._any.clear()
        self._wanted.clear()
        given = self._landed.copy()  # the counters of what is about to be committed
        await self._store_all()
        self._progress.take_over(given)
        async with self._committed:
            self._committed.notify_all()

    def given(self) -> None:
        """Something was added to the store."""
        self._any.set()
        if self._store.waiting_bytes >= _BATCH_BYTES:
            self._wanted.set()

    async def room(self) -> None:
        """Wait until the store can take more."""
        if self._store.waiting_bytes < _MOST_WAITING_BYTES:
            return
        async with self._committed:
            await self._committed.wait_for(lambda: self._store.waiting_bytes < _MOST_WAITING_BYTES)


Store = TypeVar("Store")


class GroupCommit(Generic[Store]):
    """Commits many stores in one go, off the event loop.

    With hundreds of small sites at once, each would wait for the disk alone, and their threads for
    each other. All who ask while a commit is in progress share the next one.

    Within one event loop.
    """

    def __init__(self, begin: Callable[[Sequence[Store]], Callable[[], object]]) -> None:
        """``begin`` does the quick part and returns the rest, which may block and is run in a
        thread. The next commit begins after it."""
        self._begin = begin
        self._waiting: list[Store] = []
        """Stores to be part of the next commit."""
        self._next: asyncio.Task[None] | None = None
        """The next commit."""
        self._last: asyncio.Task[None] | None = None
        """The commit in progress, or the last one."""

    async def commit(self, store: Store) -> None:
        """Returns when all that the store was given until now is durable."""
        self._waiting.append(store)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._commit())
        await asyncio.shield(self._next)  # cancelling one does not cancel the others

    async def _commit(self) -> None:
        if self._last is not None:
            await asyncio.wait([self._last])
        stores, self._waiting = self._waiting, []
        self._last, self._next = self._next, None
        await asyncio.to_thread(self._begin(stores))
