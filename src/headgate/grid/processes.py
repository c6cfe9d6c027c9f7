"""Nodes in processes of their own, one per core when asked: the fleet of one machine.

A task lives in one process from start to end: in the one that has the fewest bytes to come when it
is started. Where the process dies, its sites go on from their journals in another. Control gives
every site its rate, and each process its part of the total by the rates of its sites; it holds that
alone, and no counter is shared. `messages` has what is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from msgspec import structs

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress, TaskState
from headgate.grid.messages import (
    Close,
    Fault,
    Hello,
    News,
    SetRates,
    SetTotal,
    Start,
    Stop,
    Stream,
    UseCores,
    Word,
    version,
)
from headgate.grid.spawning import Begin, Process
from headgate.model.errors import WorldFault
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.traffic.server_tally import ServerTally

__all__ = ["ProcessFleet", "open_processes"]

_SILENT_SECONDS = 30.0
"""A process that says nothing for so long is stuck; it tells something four times a second."""
_SITES_NAMED = 3
_MOST_RESTARTS = 3
"""Of a site: one that kills its process each time is not worth others' waiting."""
_AT_ONCE_SECONDS = 0.001
"""A site whose time is up."""
_DIED = "its process died again and again"
_ENDING_SECONDS = 10.0
"""For a process to end after its last word."""
_NOTHING = ServerTally()


@dataclass(slots=True)
class _Worker:
    """A place for a process: when one dies, another takes it."""

    process: Process
    stream: Stream[Word]
    sites: set[str] = field(default_factory=set)
    """Running there now."""
    servers: dict[str, ServerTally] = field(default_factory=dict)
    servers_before: dict[str, ServerTally] = field(default_factory=dict)
    """Of processes that died here, like ``carried_before``."""
    carried: int = 0
    carried_before: int = 0
    silence: float = 0.0
    """Seconds since it was heard, as far as we listened: whoever stops all of us for a while, and
    lets us go on, finds nobody stuck."""
    cores: int = 1
    """That it was told to use."""
    greeted: bool = False
    """The process has begun to speak."""
    gone: bool = False

    @property
    def silent(self) -> bool:
        return not self.gone and self.silence > _SILENT_SECONDS

    def bury(self) -> None:
        """What the process that died did stays done."""
        self.carried_before += self.carried
        self.carried = 0
        for address, tally in self.servers.items():
            before = self.servers_before.get(address, ServerTally())
            self.servers_before[address] = before.plus(tally)
        self.servers = {}
        self.silence, self.greeted = 0.0, False

    def __str__(self) -> str:
        sites = sorted(self.sites)
        more = ", ..." if len(sites) > _SITES_NAMED else ""
        return f"{self.process.pid}, with {', '.join(sites[:_SITES_NAMED]) or 'no site'}{more}"


@dataclass(slots=True)
class _Running:
    """A task from its start until its end is heard."""

    task: Task
    worker: _Worker
    began: float
    """By the clock."""
    rate: float = 0.0
    progress: Progress | None = None
    """The newest; None: its process has told nothing of it."""
    stop: str | None = None
    """Why it was told to stop; None: it was not."""
    restarts: int = 0

    def order(self, now: float) -> Start:
        """For a process that takes it up now."""
        site = self.task.site
        if site.max_time is None or now == self.began:
            return Start(self.task, self.began)
        left = Seconds(max(site.max_time - (now - self.began), _AT_ONCE_SECONDS))
        return Start(replace(self.task, site=replace(site, max_time=left)), self.began)


@contextlib.asynccontextmanager
async def open_processes(
    begin: Begin,
    left: Callable[[str], float],
    count: int,
    clock: Clock,
    cores: int | None = None,
) -> AsyncIterator[ProcessFleet]:
    """``left`` says how many bytes of an unfinished site are still to come; ``cores``: None, as
    many as we may use."""
    workers = [_Worker(*await begin()) for _ in range(count)]
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    fleet = ProcessFleet(workers, left, partial(_replace, begin), clock, cores)
    hearing = [asyncio.create_task(fleet.hear(worker)) for worker in workers]
    try:
        yield fleet
    finally:
        for task, worker in zip(hearing, workers, strict=True):
            task.cancel()
            worker.stream.close()
        await asyncio.gather(*hearing, return_exceptions=True)
        patience = ((worker, 0.0 if worker.silent else _ENDING_SECONDS) for worker in workers)
        await asyncio.gather(*(worker.process.end(seconds) for worker, seconds in patience))


async def _replace(begin: Begin, worker: _Worker) -> None:
    worker.stream.close()
    await worker.process.end(0.0)
    worker.process, worker.stream = await begin()


class ProcessFleet:
    """The adapter of `headgate.crawling.ports.Fleet` over processes.

    A process that dies costs its sites a restart from their journals: another takes its place, and
    is given the same sites with the rates they have by then."""

    def __init__(
        self,
        workers: Sequence[_Worker],
        left: Callable[[str], float],
        replace: Callable[[_Worker], Awaitable[None]],
        clock: Clock,
        cores: int = 1,
    ) -> None:
        self._cores = cores
        self._workers = workers
        self._left = left
        self._replace = replace
        self._clock = clock
        self._started: list[Task] = []
        """Not yet given to a process."""
        self._running: dict[str, _Running] = {}
        """By site."""
        self._closing = False
        self._total = math.inf
        self._servers: dict[str, ServerTally] = {}
        self._ended: list[Progress] = []
        self._fault = ""
        self._news = asyncio.Event()

    def start(self, task: Task) -> None:
        assert task.name not in self._running, f"{task.name} runs already"
        self._started.append(task)

    def _give_out(self) -> None:
        """Tasks that were started together, the largest first: so processes get equal parts."""
        now = self._clock.now()
        for task in sorted(self._started, key=lambda task: self._left(task.name), reverse=True):
            worker = min(self._workers, key=self._load)
            worker.sites.add(task.name)
            running = self._running[task.name] = _Running(task, worker, now)
            worker.stream.send(running.order(now))
        self._started.clear()
        self._share_cores()

    def set_rates(self, rates: Mapping[str, float]) -> None:
        self._give_out()
        rates = {site: rate for site, rate in rates.items() if site in self._running}
        for site, rate in rates.items():
            self._running[site].rate = rate
        for worker in self._workers:
            share = {site: rate for site, rate in rates.items() if site in worker.sites}
            if share:
                worker.stream.send(SetRates(share))
        self.set_total(self._total)

    def _share_cores(self) -> None:
        """Among the processes that have something to do."""
        busy = [worker for worker in self._workers if worker.sites]
        count = max(self._cores // max(len(busy), 1), 1)
        for worker in busy:
            if worker.cores != count:
                worker.cores = count
                worker.stream.send(UseCores(count))

    def set_total(self, rate: float) -> None:
        """Divided by the rates of the sites, which may take some more than theirs, or by sites
        without any."""
        self._total = rate
        whole = sum(running.rate for running in self._running.values())
        for worker in self._workers:
            part = 1.0
            if math.isinf(whole):
                part = len(worker.sites) / len(self._running)
            elif whole > 0:
                part = sum(self._running[site].rate for site in worker.sites) / whole
            worker.stream.send(SetTotal(rate * part if part else 0.0))

    def carried(self) -> int:
        return sum(worker.carried_before + worker.carried for worker in self._workers)

    def stop(self, site: str, reason: str) -> None:
        self._give_out()
        if (running := self._running.get(site)) is not None:
            running.stop = reason
            running.worker.stream.send(Stop(site, reason))

    def progress(self) -> Sequence[Progress]:
        running = self._running.values()
        return [known for one in running if (known := one.progress) is not None]

    def servers(self) -> Mapping[str, ServerTally]:
        return self._servers

    async def wait(self, seconds: float) -> Sequence[Progress]:
        self._give_out()
        await self._hear_news(seconds)
        stuck = next((worker for worker in self._workers if worker.silent), None)
        if stuck is not None and not self._fault:
            self._fault = f"a crawling process does not answer ({stuck}); --resume goes on"
        if self._fault:
            raise WorldFault(self._fault)
        ended, self._ended = self._ended, []
        return ended

    async def close(self, reason: str) -> None:  # noqa: ARG002
        self._closing = True
        for worker in self._workers:
            worker.stream.send(Close())
        while not all(worker.gone or worker.silent for worker in self._workers):
            await self._hear_news(_ENDING_SECONDS)
        self._news.set()

    async def _hear_news(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._news.wait()
        self._news.clear()
        listened = min(loop.time() - before, max(seconds, 0.0))
        for worker in self._workers:
            worker.silence += listened

    async def hear(self, worker: _Worker) -> None:
        """All that a process says, and those that take its place when it dies, until the end."""
        while True:
            while (message := await worker.stream.receive()) is not None:
                worker.silence = 0.0
                self._take(worker, message)
            if self._closing or self._fault or not worker.greeted:
                break
            await self._revive(worker)
        worker.gone = True
        if (worker.sites or not worker.greeted) and not self._fault:
            self._fault = "a crawling process ended unexpectedly; --resume goes on"
        self._news.set()

    async def _revive(self, worker: _Worker) -> None:
        worker.bury()
        for running in self._running_in(worker):
            task, known = running.task, running.progress
            running.progress = None  # it would look as if nothing came
            running.restarts += 1
            if running.restarts > _MOST_RESTARTS:
                known = known or Progress(task.name, visit=task.visit)
                self._end(structs.replace(known, state=TaskState.STOPPED, reason=_DIED))
        await self._replace(worker)
        worker.cores = 1
        restarted, now = self._running_in(worker), self._clock.now()
        for running in restarted:
            worker.stream.send(running.order(now))
        worker.stream.send(SetRates({running.task.name: running.rate for running in restarted}))
        self._share_cores()
        for running in restarted:
            if running.stop is not None:
                worker.stream.send(Stop(running.task.name, running.stop))
        self.set_total(self._total)

    def _running_in(self, worker: _Worker) -> list[_Running]:
        return [self._running[site] for site in sorted(worker.sites)]

    def _load(self, worker: _Worker) -> tuple[float, int]:
        return sum(self._left(site) for site in worker.sites), len(worker.sites)

    def _take(self, worker: _Worker, message: Word) -> None:
        match message:
            case Hello(version=theirs):
                worker.greeted = True
                if theirs != version():
                    self._fault = (
                        "Headgate was updated meanwhile; --resume goes on with the new one"
                    )
                    self._news.set()
            case News(progress=progress, ended=ended, servers=servers, carried=carried):
                worker.carried = carried
                for report in progress:
                    running = self._running[report.site]
                    report.restarts = running.restarts
                    running.progress = report
                self._add_up(worker, servers)
                for report in ended:
                    self._end(report)
            case Fault(text=text):
                self._fault = text
                self._news.set()

    def _end(self, report: Progress) -> None:
        running = self._running.pop(report.site)
        running.worker.sites.remove(report.site)
        report.restarts = running.restarts
        self._ended.append(report)
        self._share_cores()
        self._news.set()

    def _add_up(self, worker: _Worker, servers: Mapping[str, ServerTally]) -> None:
        """An address may be asked by several processes."""
        worker.servers.update(servers)
        for address in servers:
            together = ServerTally()
            for known in self._workers:
                for tallies in (known.servers, known.servers_before):
                    together = together.plus(tallies.get(address, _NOTHING))
            self._servers[address] = together
