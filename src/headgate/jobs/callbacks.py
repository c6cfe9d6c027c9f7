"""Callbacks of a user's program: for pages and progress, and for choosing links.

``on_page`` and ``on_progress`` are called in a thread of their own, in order, so a slow callback
does not hold up the crawl. An exception in a callback ends the crawl in order, so that it can be
resumed, and is raised again once it has ended.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from headgate.control.conducting import Conducting
from headgate.control.forecast import Forecast
from headgate.control.snapshots import Look, Snapshots
from headgate.jobs.nobody import Nobody
from headgate.jobs.node import Listening
from headgate.model.errors import UserMistake
from headgate.model.plan import Plan
from headgate.model.snapshot import Snapshot
from headgate.storage.collection import RunFolder
from headgate.storage.page import PageRow
from headgate.storage.stored_page import StoredPage
from headgate.views.report_words import why_missed

__all__ = ["Callbacks", "Participant"]

_MOST_CHOOSING = 64
"""Concurrent calls of ``follow``, any of which may never return."""


class Callbacks(TypedDict, total=False):
    """All optional."""

    follow: Callable[[str, Sequence[str]], Iterable[str]]
    """Takes a page's URL and its links; returns the links to follow."""
    on_page: Callable[[StoredPage], object]
    """Called with each page once it is stored."""
    on_progress: Callable[[Snapshot], object]
    """Called with the state of the crawl a few times a second; a slow callback misses some."""


class Participant(Nobody):
    """The `headgate.jobs.crawl.Watcher` that calls a user's callbacks; used for one crawl."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._follow = callbacks.get("follow")
        self._on_page = callbacks.get("on_page")
        self._on_progress = callbacks.get("on_progress")
        self._snapshots = Snapshots(why_missed)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._conducting: Conducting | None = None
        self._stopped = False
        self._error: BaseException | None = None
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._choosing = ThreadPoolExecutor(_MOST_CHOOSING, "follow")

    @property
    def listening(self) -> Listening:
        return Listening(
            None if self._follow is None else self._choose,
            None if self._on_page is None else self._stored,
        )

    def stop(self) -> None:
        """End the crawl in order, from any thread; the run can be resumed."""
        self._stopped = True
        loop, conducting = self._loop, self._conducting
        if loop is not None and conducting is not None:
            loop.call_soon_threadsafe(conducting.interrupt, "interrupted")

    def finish(self) -> None:
        """After the crawl: wait for pending callbacks, and raise the error of one that failed."""
        self._choosing.shutdown(wait=False)
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
        if self._error is not None:
            raise self._error

    def opened(self) -> None:
        self._loop = asyncio.get_running_loop()

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        del plan
        self._snapshots.planned(forecasts)

    def look(self, look: Look) -> None:
        if self._on_progress is not None and self._calls.empty():
            snapshot, tell = self._snapshots.of(look), self._on_progress
            self._call(lambda: tell(snapshot))

    def attach(self, conducting: Conducting) -> None:
        self._conducting = conducting
        if self._stopped:
            conducting.interrupt("interrupted")

    async def _choose(self, url: str, links: Sequence[str]) -> Sequence[str]:
        """In a thread of an executor of its own, because ``follow`` may take long or hang, and
        commits need threads, too. Links that it adds are not followed."""
        assert self._follow is not None
        loop = asyncio.get_running_loop()
        chosen = await loop.run_in_executor(self._choosing, self._follow, url, links)
        if isinstance(chosen, str) or not isinstance(chosen, Iterable):
            raise UserMistake(f"follow({url!r}, …) returned {chosen!r}; it must return links")
        wanted = frozenset(chosen)
        return [link for link in links if link in wanted]

    def _stored(self, run: RunFolder, site: str, rows: Sequence[PageRow]) -> None:
        from headgate.storage.page_states import THERE  # it loads Arrow: no start should

        tell = self._on_page
        assert tell is not None
        for row in rows:
            if row.role == "page" and row.status in THERE:
                page = StoredPage.of(run, site, row)
                self._call(lambda page=page: tell(page))  # type: ignore[misc]

    def _call(self, call: Callable[[], object]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tell, name="callbacks", daemon=True)
            self._thread.start()
        self._calls.put(call)

    def _tell(self) -> None:
        while (call := self._calls.get()) is not None:
            if self._error is None:
                try:
                    call()
                except BaseException as error:
                    self._error = error
                    self.stop()
