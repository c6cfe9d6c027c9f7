"""A second reader: a process that reads ordinary pages in parallel to the event loop, so that even
a single site uses two cores.

It is started when reading takes a good part of the loop's time, not before: a small crawl, or one
limited by its bandwidth, is better off without it. From then on it gets each page that it can begin
soon. While it is behind, for lack of a core, the loop reads by itself. Handing a page over costs
CPU time, too, so it is not used if other worker processes have all other cores (`use`).

Pages and answers (`LENGTH_BYTES`) go over a pair of sockets; answers come in the order of the
pages. An empty answer means that the page has to be read here, as have all pages of a process that
died or does not answer. If the machine has no process or file left to start it with, it is tried
again later.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Callable
from typing import cast

import msgspec

from headgate.crawling.child_process import Child
from headgate.crawling.page_reader import PageReader, ReadPage
from headgate.crawling.second_reader_child import LENGTH_BYTES, ReadAnswer, ReadQuestion
from headgate.model.fetch import Fetched

__all__ = ["SecondReader"]


_WINDOW_SECONDS = 0.1
"""Window over which the share of time spent reading is measured."""
_WORTH_PART = 0.15
_MOST_WAITING = 32
"""Pages without an answer yet: pages come in bursts, and what does not fit is read here. Of less
than 128 KB each."""
_WORTH_BYTES = 4_000
"""A smaller page is read here in the time that handing it over takes."""
_PATIENCE_SECONDS = 10.0
"""An ordinary page takes milliseconds."""
_LATER_SECONDS = 30.0
"""After a start that failed; a failing one takes milliseconds, too."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ReadAnswer).decode


class SecondReader:
    """For all sites of one event loop; `close` ends the process."""

    def __init__(
        self,
        cores: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
        start: Callable[[], Child] | None = None,
    ) -> None:
        self._cores = len(os.sched_getaffinity(0)) if cores is None else cores
        self._not_before = -math.inf
        """When it may be started; inf: never again."""
        self._clock = clock
        self._start = start or _start
        self._window_began = clock()
        self._reading_seconds = 0.0
        """Time spent reading in this window."""
        self._child: Child | None = None
        self._pages: _Pages | None = None

    async def read(self, reader: PageReader, fetched: Fetched, body: bytes) -> ReadPage:
        """Read a page, there or here; ``body`` is decoded."""
        pages = self._pages
        if pages is not None and self._is_for(pages, reader, body):
            question = ReadQuestion(
                reader.agent, fetched.url, fetched.status, fetched.headers, reader.ignore
            )
            answer = await pages.ask(question, body)
            if answer is not None:
                return answer.page()
        began = self._clock()
        read = reader.read(fetched, body)
        now = self._clock()
        self._reading_seconds += now - began
        if now - self._window_began > _WINDOW_SECONDS:
            await self._look_back(now)
        return read

    def use(self, cores: int) -> None:
        """Set the number of cores that we may use."""
        self._cores = cores

    def close(self) -> None:
        self._not_before = math.inf
        if self._pages is not None:
            self._pages.close()
            self._pages = None
        self._end_process()

    def _is_for(self, pages: _Pages, reader: PageReader, body: bytes) -> bool:
        large_enough = len(body) >= _WORTH_BYTES
        return large_enough and self._cores > 1 and pages.has_room and not reader.with_words

    async def _look_back(self, now: float) -> None:
        busy = self._reading_seconds > _WORTH_PART * (now - self._window_began)
        self._window_began, self._reading_seconds = now, 0.0
        if busy and now >= self._not_before and self._cores > 1:
            self._not_before = math.inf
            try:
                await self._begin()
            except OSError:
                self._end_process()
                self._not_before = now + _LATER_SECONDS

    async def _begin(self) -> None:
        self._child = self._start()
        loop = asyncio.get_running_loop()
        _, self._pages = await loop.create_unix_connection(_Pages, sock=self._child.detach())

    def _end_process(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None


class _Pages(asyncio.Protocol):
    """Our end of the sockets. Invariant: ``_waiting`` has a future for each page without an
    answer."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[ReadAnswer | None]] = deque()
        self._transport: asyncio.WriteTransport | None = None
        self._came = bytearray()
        self._answered = 0
        self._watch: asyncio.TimerHandle | None = None

    @property
    def has_room(self) -> bool:
        return self._transport is not None and len(self._waiting) < _MOST_WAITING

    async def ask(self, question: ReadQuestion, body: bytes) -> ReadAnswer | None:
        """None: the page has to be read here."""
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ReadAnswer | None] = loop.create_future()
        data = _encode(question)
        lengths = len(data).to_bytes(LENGTH_BYTES) + len(body).to_bytes(LENGTH_BYTES)
        self._waiting.append(answer)
        self._transport.writelines((lengths, data, body))
        if self._watch is None:
            self._watch = loop.call_later(_PATIENCE_SECONDS, self._look_after, self._answered)
        return await answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self.connection_lost(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._came += data
        came, start = memoryview(self._came), 0
        while (begin := start + LENGTH_BYTES) <= len(came):
            end = begin + int.from_bytes(came[start:begin])
            if len(came) < end:
                break
            self._settle(_decode(came[begin:end]) if end > begin else None)
            start = end
        came.release()
        del self._came[:start]

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self._watch is not None:
            self._watch.cancel()
        while self._waiting:
            self._settle(None)

    def _settle(self, answer: ReadAnswer | None) -> None:
        self._answered += 1
        waiting = self._waiting.popleft()
        if not waiting.done():  # the site may have been stopped
            waiting.set_result(answer)

    def _look_after(self, answered: int) -> None:
        self._watch = None
        if self._waiting and answered == self._answered:
            self.close()
        elif self._waiting:
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(_PATIENCE_SECONDS, self._look_after, self._answered)


def _start() -> Child:
    return Child("headgate.crawling.second_reader_child")
