"""A node: several site runs at once in one event loop, with one fetcher.

A fault of one site run (a full disk, say) is a fault of this machine: `wait` raises it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Protocol

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import Fetcher
from headgate.crawling.progress import Progress
from headgate.crawling.second_reader import SecondReader
from headgate.model.task import Task

if TYPE_CHECKING:  # few crawls have one
    from headgate.crawling.common_queue import CommonQueue

__all__ = ["Node", "NodeRun"]

_WORTH_TELLING = 1.2
_BORROWING = 1.1
"""Most that a site may use while others leave some of theirs, relative to its rate: no site uses
its rate to the last byte, and the rest would be lost. Beyond that it may use what no site wants, up
to the user's bound: a site with few pages left cannot use its rate, and control does not know of
that before it has ended."""


class NodeRun(Protocol):
    """A task that runs: `headgate.crawling.site_run.SiteRun`, or a survey's."""

    @property
    def max_rate(self) -> float:
        """The site's ``max_rate``, bytes per second."""
        ...

    async def run(self) -> Progress: ...

    def stop(self, reason: str) -> None: ...

    def report_progress(self) -> Progress: ...

    def rate_changed(self) -> None: ...


class Node:
    """A `headgate.crawling.ports.Fleet` within this event loop."""

    def __init__(
        self,
        open_run: Callable[[Task, float | None], NodeRun],
        fetcher: Fetcher,
        close_run: Callable[[str], None] = lambda _: None,
        *,
        borrowing: bool = True,
        queue: CommonQueue | None = None,
        second_reader: SecondReader | None = None,
    ) -> None:
        """``open_run`` gets the task and when it was started, if not now; ``close_run`` is called
        for each site whose run has ended, for whatever reason. ``borrowing``: whether a site may
        use a little more than its rate if others use less. ``queue``: shared by all sites; it
        limits them to their shares, and their rates are ignored. ``second_reader``: a process that
        helps to read."""
        self._queue = queue
        self._second_reader = second_reader
        self._open_run = open_run
        self._close_run = close_run
        self._fetcher = fetcher
        self._rates = fetcher.meter
        self._runs: dict[str, NodeRun] = {}
        """Those that have not ended; `wait` returns the progress of those that have."""
        self._tasks: dict[str, asyncio.Task[Progress]] = {}
        self._most = _BORROWING if borrowing else 1.0
        self._total = math.inf
        self._ended: list[asyncio.Task[Progress]] = []
        self._news: asyncio.Future[None] | None = None
        """Set while `wait` waits for a run to end."""

    def start(self, task: Task, at: float | None = None) -> None:
        """``at``: when it was started, by the machine's clock, if not now."""
        site = task.name
        assert site not in self._runs, f"{site} runs already"
        run = self._runs[site] = self._open_run(task, at)
        running = self._tasks[site] = asyncio.get_running_loop().create_task(run.run())
        running.add_done_callback(partial(self._note_end, site))

    def set_rates(self, rates: Mapping[str, float]) -> None:
        if self._queue is not None:
            return
        running = {site: run for site in rates if (run := self._runs.get(site)) is not None}
        for site, run in running.items():
            rate = rates[site]
            bound = run.max_rate if rate > 0 and self._most > 1 else None
            self._rates.set_site(site, rate, min(self._most * rate, run.max_rate), bound)
        for run in running.values():
            run.rate_changed()

    def set_total(self, rate: float) -> None:
        """Site runs are notified if the change is large enough to affect their connections."""
        if self._queue is not None:
            self._queue.set_total(rate)
            return
        self._rates.set_total(rate)
        if not self._total / _WORTH_TELLING < rate < self._total * _WORTH_TELLING:
            self._total = rate
            for site in self._tasks:
                self._runs[site].rate_changed()

    def use_cores(self, count: int) -> None:
        if self._second_reader is not None:
            self._second_reader.use(count)

    def carried(self) -> int:
        return self._fetcher.carried()

    def stop(self, site: str, reason: str) -> None:
        if site in self._runs:
            self._runs[site].stop(reason)

    def progress(self) -> Sequence[Progress]:
        """Copies, since the caller may still use them when the next page arrives."""
        return [copy(run.report_progress()) for run in self._runs.values()]

    def servers(self) -> Mapping[str, ServerTally]:
        return self._fetcher.servers

    async def wait(self, seconds: float) -> Sequence[Progress]:
        if not self._ended:
            await self._wait_for_an_end(max(seconds, 0.0))
        ended, self._ended = self._ended, []
        return [task.result() for task in ended]

    async def _wait_for_an_end(self, seconds: float) -> None:
        """A timer and a future: cheaper, twice a second for hours, than a task to be cancelled."""
        loop = asyncio.get_running_loop()
        self._news = news = loop.create_future()
        timer = loop.call_later(seconds, _settle, news)
        try:
            await news
        finally:
            timer.cancel()
            self._news = None

    async def close(self, reason: str) -> None:
        for run in self._runs.values():
            run.stop(reason)
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def _note_end(self, site: str, ended: asyncio.Task[Progress]) -> None:
        del self._tasks[site], self._runs[site]
        self._close_run(site)
        self._rates.forget_site(site)
        self._ended.append(ended)
        if self._news is not None:
            _settle(self._news)
        if not ended.cancelled():
            ended.exception()  # retrieved here: several runs may find the same disk full


def _settle(news: asyncio.Future[None]) -> None:
    if not news.done():
        news.set_result(None)
