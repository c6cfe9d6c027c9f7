"""Notifies the user's commands and web hooks of changed pages, without holding up the crawl.

`ChangeNotices.enqueue` queues a notice on disk and returns at once; a restart continues with the
queue. Notices that are dropped, because too many wait, are counted and reported (`troubles`). The
difference of a page's text is made in a thread when the notice is delivered.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from headgate.crawling.ports import Clock
from headgate.features.changes.difference import changed_page
from headgate.features.keep.notice_delivery import CommandEnd, PostAnswer, post_json, run_command
from headgate.features.keep.notice_log import NoticeLog, take_news
from headgate.features.keep.status import NoticeCounts, Trouble
from headgate.frontier.retries import is_temporary
from headgate.frontier.retries import pause_after as backoff
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.keeping import Keeping, is_web_hook
from headgate.model.page import ArchivedPage, Change, ChangeNotice, PageChange
from headgate.model.site import Site
from headgate.reading.change_detection import Noise
from headgate.storage.journals.journal import Owner
from headgate.storage.page_states import PageState

__all__ = ["MOST_TRIES", "ChangeNotices", "NoticeOutcome", "NoticeQueue", "pause_after"]

MOST_WAITING = 10_000
MOST_TRIES = 6
_AT_ONCE = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 3_600.0
_GROWTH = 4.0


class NoticeOutcome(Enum):
    TOLD = auto()
    REFUSED = auto()
    """The listener rejects it; another try would not help."""
    FAILED = auto()
    """Another try may succeed."""


def pause_after(failures: int) -> float:
    """Seconds before the next try.

    >>> [pause_after(failures) for failures in range(1, 7)]
    [10.0, 40.0, 160.0, 640.0, 2560.0, 3600.0]
    """
    return backoff(failures, first=_FIRST_PAUSE, growth=_GROWTH, longest=_LONGEST_PAUSE)


@dataclass(slots=True)
class _Listener:
    """Notices by number, the oldest first; if ``busy``, the first is being delivered."""

    waiting: deque[int] = field(default_factory=deque)
    busy: bool = False
    tries: int = 0
    """Of the first notice."""
    failures: int = 0
    """In a row."""
    not_before: float = 0.0


@dataclass(slots=True)
class NoticeQueue:
    """Which change notice to deliver next, and when: pure, time is an argument.

    Each listener has a queue of its own with one delivery at a time, so that notices come in order
    and a slow listener holds up nobody else. A failed delivery is retried after a pause that grows
    with the listener's consecutive failures, since mostly the listener is down; after some tries
    the notice is given up. Notices that come while too many wait are dropped and counted.
    """

    delivered: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    _listeners: dict[str, _Listener] = field(default_factory=dict)
    _busy: int = 0

    @property
    def full(self) -> bool:
        return self.waiting >= MOST_WAITING

    def drop(self) -> None:
        """Count a notice that nobody will get."""
        self.dropped += 1

    def add(self, number: int, to: str) -> bool:
        """Whether it was queued; False: it was dropped."""
        if self.full:
            self.drop()
            return False
        self._listeners.setdefault(to, _Listener()).waiting.append(number)
        self.waiting += 1
        return True

    def start(self, now: float) -> Iterator[tuple[str, int]]:
        """Notices to deliver now; each is in progress until `ended`."""
        for to, listener in list(self._listeners.items()):
            if self._busy >= _AT_ONCE:
                return
            if listener.waiting and not listener.busy and listener.not_before <= now:
                listener.busy = True
                self._busy += 1
                # To the end, so that listeners take turns.
                self._listeners[to] = self._listeners.pop(to)
                yield to, listener.waiting[0]

    def ended(self, to: str, outcome: NoticeOutcome, now: float) -> bool:
        """Record the outcome of a delivery; whether the notice is done."""
        listener = self._listeners[to]
        listener.busy = False
        self._busy -= 1
        listener.tries += 1
        if outcome is NoticeOutcome.FAILED:
            listener.failures += 1
            listener.not_before = now + pause_after(listener.failures)
            if listener.tries < MOST_TRIES:
                return False
        else:
            listener.failures = 0
        self.delivered += outcome is NoticeOutcome.TOLD
        self.failed += outcome is not NoticeOutcome.TOLD
        listener.waiting.popleft()
        listener.tries = 0
        self.waiting -= 1
        if not listener.waiting and not listener.failures:
            del self._listeners[to]
        return True

    def readdress(self, receiver: Callable[[int], str]) -> list[int]:
        """Give each notice to whom ``receiver`` names for its number, after what waits there;
        returns those that nobody gets (""), which are forgotten. What is being delivered stays."""
        moved: list[int] = []
        for to, listener in list(self._listeners.items()):
            first = listener.waiting[0] if listener.waiting else None
            waiting, listener.waiting = listener.waiting, deque[int]()
            for number in waiting:
                stays = receiver(number) == to or (listener.busy and number == first)
                (listener.waiting if stays else moved).append(number)
            if listener.waiting and listener.waiting[0] == first:
                continue
            listener.tries = 0
            if not listener.waiting and not listener.failures:
                del self._listeners[to]
        self.waiting -= len(moved)
        given = [(number, receiver(number)) for number in sorted(moved)]
        for number, to in given:
            if to:
                self.add(number, to)
        return [number for number, to in given if not to]

    def next_try(self) -> float | None:
        """When `start` has something again; None: not until something is added or ended."""
        if self._busy >= _AT_ONCE:
            return None
        moments = [
            listener.not_before
            for listener in self._listeners.values()
            if listener.waiting and not listener.busy
        ]
        return min(moments, default=None)

    def check(self) -> None:
        """The invariants, for tests."""
        assert self.waiting == sum(len(one.waiting) for one in self._listeners.values())
        assert self._busy == sum(one.busy for one in self._listeners.values()) <= _AT_ONCE
        assert self.waiting <= MOST_WAITING
        assert all(one.waiting for one in self._listeners.values() if one.busy)


# The notices of one keeper.


_SECONDS = 60.0
"""Time-out of a command or a hook."""
_LONGEST_LINE = 500
_MOST_TROUBLES = 20
_MACHINE = "see whether this machine lacks memory, processes or open files; it is tried again"


@dataclass(frozen=True, slots=True)
class _Try:
    """The outcome of a delivery; if it failed, the problem and a remedy."""

    outcome: NoticeOutcome
    problem: str = ""
    remedy: str = ""


@dataclass(slots=True)
class ChangeNotices:
    """Use as ``async with ChangeNotices(collection, clock, agent, sites) as notices``. Deliveries
    that are in progress at its end are repeated after the next start.

    What is run or posted to is named by these sites, never by the collection."""

    collection: Path
    clock: Clock
    agent: str
    """User agent of the requests to hooks."""
    sites: InitVar[Iterable[Site]]
    seconds: float = _SECONDS
    _keepings: dict[str, Keeping] = field(init=False)
    """By site."""
    _queue: NoticeQueue = field(default_factory=NoticeQueue)
    _log: NoticeLog | None = None
    """Opened with the first notice."""
    _faults: dict[str, Trouble] = field(default_factory=dict)
    """By receiver, if its last delivery failed."""
    _dropped_since: float = 0.0
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self, sites: Iterable[Site]) -> None:
        self._keepings = _keepings(sites)

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

    def collect(self, owner: Owner | None = None) -> None:
        """Queue the notices that a visit has left, or all have: only when they are merged, as
        until then they leave their notices again after a fault."""
        for notice in take_news(self.collection, owner):
            self.enqueue(notice)

    def set_sites(self, sites: Iterable[Site]) -> None:
        """Notices that wait go to whom these name; those of other sites are dropped."""
        keepings = _keepings(sites)
        if keepings != self._keepings:
            self._keepings = keepings
            named = {keeping.on_change for keeping in keepings.values()}
            self._faults = {to: fault for to, fault in self._faults.items() if to in named}
            self._readdress()
            self._news.set()

    def enqueue(self, notice: ChangeNotice) -> None:
        """Queue a notice for its receiver, if its site names one. Never waits and never fails."""
        to = self._receiver(notice)
        if not to:
            return
        if self._queue.full:
            self._drop()
            return
        try:
            number = self._open().add(notice)
        except WorldFault:
            self._drop()
            return
        self._queue.add(number, to)
        self._news.set()

    @property
    def counts(self) -> NoticeCounts:
        """Since the start."""
        queue = self._queue
        return NoticeCounts(queue.delivered, queue.failed, queue.dropped, queue.waiting)

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
                to = self._receiver(notice)
                if not to or not self._queue.add(number, to):
                    self._log.done(number)
        return self._log

    def _receiver(self, notice: ChangeNotice) -> str:
        """A command or a URL; empty: nobody is to be told."""
        keeping = self._keepings.get(notice.change.site)
        return "" if keeping is None else keeping.on_change

    def _readdress(self) -> None:
        log = self._log
        if log is None:
            return
        for number in self._queue.readdress(lambda number: self._receiver(log.open[number])):
            self._done(log, number)

    def _done(self, log: NoticeLog, number: int) -> None:
        """If the disk is full, it is sent again after a restart."""
        with suppress(WorldFault):
            log.done(number)

    def _drop(self) -> None:
        if not self._queue.dropped:
            self._dropped_since = self.clock.wall()
        self._queue.drop()

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
        tried = await self._tried(to, log.open[number])
        if not tried.problem:
            self._faults.pop(to, None)
        else:
            since = self._faults[to].since if to in self._faults else self.clock.wall()
            what = f"{to} did not get a notice of a change: {tried.problem}"
            self._faults[to] = Trouble(what, since, tried.remedy)
        if self._queue.ended(to, tried.outcome, self.clock.now()):
            self._done(log, number)
        else:
            self._readdress()  # the site file may have changed meanwhile
        self._news.set()

    async def _tried(self, to: str, notice: ChangeNotice) -> _Try:
        """Whatever goes wrong here is a failed try: its receiver would else be busy for ever."""
        try:
            return await self._told(to, notice)
        except Exception as error:
            problem = getattr(error, "strerror", None) or str(error) or repr(error)
            return _Try(NoticeOutcome.FAILED, problem, _MACHINE)

    async def _told(self, to: str, notice: ChangeNotice) -> _Try:
        keeping = self._keepings.get(notice.change.site, Keeping())
        change = await asyncio.to_thread(_with_difference, self.collection, notice, keeping.ignore)
        document = msgspec.json.encode(change)
        if is_web_hook(to):
            return _answered(await post_json(to, document, self.seconds, self.agent))
        brief = msgspec.json.encode(msgspec.structs.replace(change, difference=(), more_lines=0))
        environment = {
            "HEADGATE_CHANGE": brief.decode(),
            "HEADGATE_KIND": str(change.change),
            "HEADGATE_SITE": _for_environment(change.site),
            "HEADGATE_URL": _for_environment(change.url),
        }
        line = document + b"\n"  # so that a command may gather lines
        return _ended(await run_command(to, line, environment, self.seconds), to)


def _answered(answer: PostAnswer) -> _Try:
    if 200 <= answer.status < 300:
        return _Try(NoticeOutcome.TOLD)
    if answer.problem:
        remedy = "check that it runs and can be reached from here; it is tried again"
        return _Try(NoticeOutcome.FAILED, answer.problem, remedy)
    what = f"it answered {answer.status}"
    if is_temporary(answer.status):
        return _Try(NoticeOutcome.FAILED, what, "see its log; it is tried again")
    remedy = "correct on_change in the site file; after a redirect, use the new URL"
    return _Try(NoticeOutcome.REFUSED, what, remedy)


def _ended(end: CommandEnd, command: str) -> _Try:
    if end.well:
        return _Try(NoticeOutcome.TOLD)
    if not end.startable:
        program = shlex.split(command)[0]
        remedy = f"install {program!r} or give its full path in on_change of the site file"
        return _Try(NoticeOutcome.REFUSED, end.problem, remedy)
    return _Try(NoticeOutcome.FAILED, end.problem, "correct the command; it is tried again")


def _keepings(sites: Iterable[Site]) -> dict[str, Keeping]:
    return {site.name: site.keeping for site in sites if site.keeping.on_change}


def _with_difference(collection: Path, notice: ChangeNotice, ignore: tuple[str, ...]) -> PageChange:
    """The change with the difference of its text, if that can be made."""
    change = notice.change
    if change.change is not Change.CHANGED or notice.old is None or notice.new is None:
        return change
    try:
        noise = Noise.from_rules(ignore)
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
    return PageState(
        seen_at,
        "",
        content_type="",
        digest=page.digest,
        file=page.file,
        offset=page.offset,
        record_url=page.url,
    )


def _for_environment(text: str) -> str:
    return text.replace("\0", "")[:4_000]
