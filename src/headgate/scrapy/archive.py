"""What spiders fetched, archived where `HEADGATE_OUT` says: a run of a collection, as a crawl's.

GETs only, for a WARC is replayed by URL. Who asked is taken out of the heads, as in a crawl. A run
that was killed is sealed, as far as it came, by the next spider that uses the collection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from headgate.crawling.ports import Clock
from headgate.engine.report_pages import write_report_page
from headgate.engine.runs import JobKind, kind_of, open_run, refuse_unfinished
from headgate.fetching.identity import without_secrets
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.errors import WorldFault
from headgate.model.fetch import REDIRECTS, Fetched
from headgate.model.page import Page
from headgate.model.run_report import RunReport
from headgate.storage.atomic_write import write_whole
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.run_journals import SharedFiles, recover_files
from headgate.storage.journals.spool import SiteSpool, commit_together

__all__ = ["SpiderArchive", "check_folder"]

_STORE_SECONDS = 1.0
_MOST_WAITING_BYTES = 32_000_000
"""Spiders wait while more waits for the disk."""
_PAGE_STATUSES = range(200, 300)


class SpiderArchive:
    """Of one line. ``fault`` is why nothing more can be stored; empty: it can."""

    def __init__(self, out: Path, clock: Clock, software: str) -> None:
        """Raises `UserMistake` where the folder is used by somebody else, or cannot be."""
        self._files = ExitStack()
        collection = Collection(out)
        self._files.enter_context(collection.lock())
        try:
            _seal_killed(collection)
            started = datetime.fromtimestamp(clock.wall(), UTC)
            self.run = open_run(collection, JobKind.SCRAPY, b"{}", started, resume=False)
            self._warcinfo = (("software", software),)
            claimed = SharedFiles.claim(self.run, self._warcinfo)
            self._shared = self._files.enter_context(closing(claimed))
        except BaseException:
            self._files.close()
            raise
        self._spools: dict[str, SiteSpool] = {}
        self.fault: WorldFault | None = None
        self._page_writer = asyncio.get_running_loop().create_task(self._store_now_and_then())
        self._stored = asyncio.Event()

    async def put(self, site: str, fetched: Fetched, depth: int) -> None:
        """A response; waits while too much waits for the disk. Raises `WorldFault`."""
        while self.fault is None and self._waiting_bytes > _MOST_WAITING_BYTES:
            self._stored.clear()
            await self._stored.wait()
        if self.fault is not None:
            raise self.fault
        spool = self._spools.get(site)
        if spool is None:
            place = self.run.place(site, self._warcinfo)
            spool = self._spools[site] = SiteSpool(place, self._shared)
            self._files.callback(spool.close)
        url = fetched.url.partition("#")[0]
        request, response = without_secrets(fetched.request_head, fetched.response_head)
        kept = msgspec.structs.replace(
            fetched, url=url, request_head=request, response_head=response
        )
        entry = JournalEntry(_outcome(fetched.status), url, depth=depth)
        spool.put(Page(kept, depth), entry)

    async def finish(self, report: RunReport) -> Path:
        """All is stored and sealed; the answer is where the report's page is."""
        self._page_writer.cancel()
        await asyncio.gather(self._page_writer, return_exceptions=True)
        try:
            return await asyncio.to_thread(self._seal, report)
        finally:
            self._files.close()

    @property
    def _waiting_bytes(self) -> int:
        return sum(spool.waiting_bytes for spool in self._spools.values())

    async def _store_now_and_then(self) -> None:
        while self.fault is None:
            await asyncio.sleep(_STORE_SECONDS)
            waiting = [spool for spool in self._spools.values() if spool.waiting_bytes]
            try:
                await asyncio.to_thread(commit_together, waiting)
            except WorldFault as fault:
                self.fault = fault
            self._stored.set()

    def _seal(self, report: RunReport) -> Path:
        spools: Sequence[SiteSpool] = list(self._spools.values())
        if self.fault is not None:
            raise self.fault
        for spool in spools:
            spool.finish()
        commit_together(spools)
        _leave(self.run, report)
        return self.run.path / "report.html"


def check_folder(out: Path) -> None:
    """Raises `UserMistake` where somebody uses it, or left it unfinished."""
    collection = Collection(out)
    with collection.lock():
        refuse_unfinished(collection, JobKind.SCRAPY)


def _seal_killed(collection: Collection) -> None:
    run = collection.unfinished_run()
    if run is not None and kind_of(run) is JobKind.SCRAPY:
        recover_files(run)
        _leave(run, None)


def _leave(run: RunFolder, report: RunReport | None) -> None:
    from headgate.storage.sealing import seal  # here: it brings 50 MB

    seal(run)
    if report is not None:
        write_whole(run.path / "report.json", msgspec.json.encode(report))
        write_report_page(report, run.path)
    run.finish()


def _outcome(status: int) -> UrlOutcome:
    if status in REDIRECTS:
        return UrlOutcome.REDIRECT
    return UrlOutcome.PAGE if status in _PAGE_STATUSES else UrlOutcome.ERROR
