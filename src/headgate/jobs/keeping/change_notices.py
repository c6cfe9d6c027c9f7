"""Notifies the user's commands and web hooks of changed pages, without holding up the crawl.

`ChangeNotices.tell` queues a notice on disk and returns at once; a restart continues with the
queue. Notices that are dropped, because too many wait, are counted and reported (`troubles`). The
difference of a page's text is made in a thread when the notice is delivered.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from headgate.control.notice_queue import MOST_WAITING, NoticeQueue, Outcome
from headgate.crawling.ports import Clock
from headgate.fetching.posting import PostAnswer, post_json
from headgate.jobs.exporting.changed_page import changed_page
from headgate.jobs.keeping.told_command import CommandEnd, run_command
from headgate.model.change_notice import ArchivedPage, ChangeNotice
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.keep_status import NoticeCounts, Trouble
from headgate.model.keeping import is_web_hook
from headgate.model.page_change import Change, PageChange
from headgate.reading.noise import Noise
from headgate.storage.journals.journal import Owner
from headgate.storage.memory.visit_news import take_news
from headgate.storage.notice_log import NoticeLog
from headgate.storage.page_state import PageState

__all__ = ["ChangeNotices"]

_SECONDS = 60.0
"""Time-out of a command or a hook."""
_LONGEST_LINE = 500
_RETRIED = frozenset((408, 425, 429))
_MOST_TROUBLES = 20
_MACHINE = "see whether this machine lacks memory, processes or open files; it is tried again"


@dataclass(frozen=True, slots=True)
class _Try:
    """The outcome of a delivery; if it failed, the problem and a remedy."""

    outcome: Outcome
    problem: str = ""
    remedy: str = ""


@dataclass(slots=True)
class ChangeNotices:
    """Use as ``async with ChangeNotices(collection, clock, agent) as notices``. Deliveries that are
    in progress at its end are repeated after the next start."""

    collection: Path
    clock: Clock
    agent: str
    """User agent of the requests to hooks."""
    seconds: float = _SECONDS
    _queue: NoticeQueue = field(default_factory=NoticeQueue)
    _log: NoticeLog | None = None
    """Opened with the first notice."""
    _faults: dict[str, Trouble] = field(default_factory=dict)
    """By receiver, if its last delivery failed."""
    _dropped_since: float = 0.0
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        if NoticeLog.is_in(self.collection):
            self._open()
        self._begin(self._go_on())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._log is not None:
            self._log.close()

    def take(self, owner: Owner | None = None) -> None:
        """Queue the notices that a visit has left, or all have: only when they are merged, as
        until then they leave their notices again after a fault."""
        for notice in take_news(self.collection, owner):
            self.tell(notice)

    def tell(self, notice: ChangeNotice) -> None:
        """Queue a notice for its receiver. Never waits and never fails."""
        if self._queue.waiting >= MOST_WAITING:
            self._drop()
            return
        try:
            number = self._open().add(notice)
        except WorldFault:
            self._drop()
            return
        self._queue.add(number, notice.to)
        self._news.set()

    @property
    def counts(self) -> NoticeCounts:
        """Since the start."""
        queue = self._queue
        return NoticeCounts(queue.told, queue.failed, queue.dropped, queue.waiting)

    def troubles(self) -> tuple[Trouble, ...]:
        found = list(self._faults.values())[:_MOST_TROUBLES]
        if self._queue.dropped:
            what = f"{self._queue.dropped:,} notices of changes were dropped, too many waited"
            remedy = f"headgate changes {self.collection} --since 1d lists them; check on_change"
            found.append(Trouble(what, self._dropped_since, remedy))
        return tuple(found)

    def _open(self) -> NoticeLog:
        if self._log is None:
            self._log = NoticeLog(self.collection)
            for number, notice in list(self._log.open.items()):
                if not self._queue.add(number, notice.to):
                    self._log.done(number)
        return self._log

    def _drop(self) -> None:
        if not self._queue.dropped:
            self._dropped_since = self.clock.wall()
        self._queue.dropped += 1

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _go_on(self) -> None:
        while True:
            self._news.clear()
            for to, number in self._queue.start(self.clock.now()):
                self._begin(self._try(to, number))
            soon = self._queue.next_try()
            try:
                wait = None if soon is None else max(soon - self.clock.now(), 0.0)
                await asyncio.wait_for(self._news.wait(), wait)
            except TimeoutError:
                pass

    async def _try(self, to: str, number: int) -> None:
        log = self._open()
        tried = await self._tried(log.open[number])
        if not tried.problem:
            self._faults.pop(to, None)
        else:
            since = self._faults[to].since if to in self._faults else self.clock.wall()
            what = f"{to} did not get a notice of a change: {tried.problem}"
            self._faults[to] = Trouble(what, since, tried.remedy)
        if self._queue.ended(to, tried.outcome, self.clock.now()):
            # If the disk is full, it is sent again after a restart.
            with suppress(WorldFault):
                log.done(number)
        self._news.set()

    async def _tried(self, notice: ChangeNotice) -> _Try:
        """Whatever goes wrong here is a failed try: its receiver would else be busy for ever."""
        try:
            return await self._told(notice)
        except Exception as error:
            problem = getattr(error, "strerror", None) or str(error) or repr(error)
            return _Try(Outcome.FAILED, problem, _MACHINE)

    async def _told(self, notice: ChangeNotice) -> _Try:
        change = await asyncio.to_thread(_with_difference, self.collection, notice)
        document = msgspec.json.encode(change)
        if is_web_hook(notice.to):
            return _answered(await post_json(notice.to, document, self.seconds, self.agent))
        brief = msgspec.json.encode(msgspec.structs.replace(change, difference=(), more_lines=0))
        environment = {
            "HEADGATE_CHANGE": brief.decode(),
            "HEADGATE_KIND": str(change.change),
            "HEADGATE_SITE": _for_environment(change.site),
            "HEADGATE_URL": _for_environment(change.url),
        }
        line = document + b"\n"  # so that a command may gather lines
        return _ended(await run_command(notice.to, line, environment, self.seconds), notice.to)


def _answered(answer: PostAnswer) -> _Try:
    if 200 <= answer.status < 300:
        return _Try(Outcome.TOLD)
    if answer.problem:
        remedy = "check that it runs and can be reached from here; it is tried again"
        return _Try(Outcome.FAILED, answer.problem, remedy)
    what = f"it answered {answer.status}"
    if answer.status >= 500 or answer.status in _RETRIED:
        return _Try(Outcome.FAILED, what, "see its log; it is tried again")
    remedy = "correct on_change in the site file; after a redirect, use the new URL"
    return _Try(Outcome.REFUSED, what, remedy)


def _ended(end: CommandEnd, command: str) -> _Try:
    if end.well:
        return _Try(Outcome.TOLD)
    if not end.startable:
        program = shlex.split(command)[0]
        remedy = f"install {program!r} or give its full path in on_change of the site file"
        return _Try(Outcome.REFUSED, end.problem, remedy)
    return _Try(Outcome.FAILED, end.problem, "correct the command; it is tried again")


def _with_difference(collection: Path, notice: ChangeNotice) -> PageChange:
    """The change with the difference of its text, if that can be made."""
    change = notice.change
    if change.change is not Change.CHANGED or notice.old is None or notice.new is None:
        return change
    try:
        noise = Noise.of(notice.ignore)
        old = _state(notice.old, change.before_at or 0.0)
        new = _state(notice.new, change.seen_at)
        found = changed_page(collection, (change.site, change.url), old, new, noise)
    except (HeadgateError, OSError, ValueError):
        return change
    if found is None:
        return change
    lines = tuple(line[:_LONGEST_LINE] for line in found.difference)
    return msgspec.structs.replace(change, difference=lines, more_lines=found.more_lines)


def _state(page: ArchivedPage, seen_at: float) -> PageState:
    return PageState(seen_at, "", "", page.digest, page.file, page.offset, page.url)


def _for_environment(text: str) -> str:
    return text.replace("\0", "")[:4_000]
