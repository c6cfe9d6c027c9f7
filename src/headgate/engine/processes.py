"""Nodes in several processes of this machine.

A task runs in the process with the fewest bytes to come when it is started. If a process dies, its
sites continue from their journals in another; if one is idle and another busy, a site is moved in
the same way. Each process gets a part of the total by the rates of its sites and enforces it alone,
without shared counters. `process_messages` has the protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec import structs

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import Clock, SetRates, SetTotal, StopSite
from headgate.crawling.progress import HANDED_OVER, Progress, TaskState
from headgate.engine.process_messages import (
    Begin,
    Close,
    Fault,
    Hello,
    News,
    UseCores,
    Word,
    version,
)
from headgate.engine.workers import ProcessLoad, RunningTask, WorkerProcess, best_move, worth_a_look
from headgate.model.errors import WorldFault
from headgate.model.run_report import PROCESS_DIED
from headgate.model.task import Task

__all__ = ["ProcessFleet", "open_processes"]

_MOST_RESTARTS = 3
"""Of a site, soon one after the other: one that kills its process each time is given up."""
_SOON_SECONDS = 600.0
_INTERRUPTED = "interrupted"
_ENDING_SECONDS = 10.0
"""Time for a process to end after its last message."""
_NOTHING = ServerTally()


@contextlib.asynccontextmanager
async def open_processes(
    begin: Begin,
    left: Callable[[str], float],
    count: int,
    clock: Clock,
    cores: int | None = None,
    may_move: Callable[[Task], bool] = lambda _: False,
) -> AsyncIterator[ProcessFleet]:
    """``left`` estimates the bytes still to come of an unfinished site; ``cores`` None: as many as
    we may use; ``may_move``: whether a task may move between processes."""
    workers = [WorkerProcess(*await begin()) for _ in range(count)]
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    fleet = ProcessFleet(
        workers, left, replace=partial(_replace, begin), clock=clock, cores=cores, may_move=may_move
    )
    hearing = [asyncio.create_task(fleet.receive(worker)) for worker in workers]
    try:
        yield fleet
    finally:
        for task, worker in zip(hearing, workers, strict=True):
            task.cancel()
            worker.stream.close()
        await asyncio.gather(*hearing, return_exceptions=True)
        patience = ((worker, 0.0 if worker.silent else _ENDING_SECONDS) for worker in workers)
        await asyncio.gather(*(worker.process.end(seconds) for worker, seconds in patience))


async def _replace(begin: Begin, worker: WorkerProcess) -> None:
    worker.stream.close()
    await worker.process.end(0.0)
    worker.process, worker.stream = await begin()


class ProcessFleet:
    """The adapter of `headgate.crawling.ports.Fleet` over processes.

    A process that dies costs its sites a restart from their journals: another takes its place, and
    is given the same sites with the rates they have by then."""

    def __init__(
        self,
        workers: Sequence[WorkerProcess],
        left: Callable[[str], float],
        replace: Callable[[WorkerProcess], Awaitable[None]],
        clock: Clock,
        cores: int = 1,
        may_move: Callable[[Task], bool] = lambda _: False,
    ) -> None:
        self._cores = cores
        self._workers = workers
        self._left = left
        self._replace = replace
        self._clock = clock
        self._may_move = may_move
        self._started: list[Task] = []
        """Tasks not yet given to a process."""
        self._running: dict[str, RunningTask] = {}
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
        """Give tasks that were started together to processes, largest first, for equal parts."""
        now = self._clock.now()
        for task in sorted(self._started, key=lambda task: self._left(task.name), reverse=True):
            worker = min(self._workers, key=self._load)
            worker.sites.add(task.name)
            running = self._running[task.name] = RunningTask(task, worker, now)
            worker.stream.send(running.order(now))
        self._started.clear()

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

    def _even_out(self) -> None:
        """Move a site to an idle process if that helps; one at a time."""
        activities = [(len(worker.sites), worker.cores_busy) for worker in self._workers]
        if not worth_a_look(activities) or self._targets:
            return
        move = best_move([self._place(worker) for worker in self._workers])
        if move is not None:
            self._move(move.site, self._workers[move.target])

    def _move(self, site: str, target: WorkerProcess) -> None:
        """Move a site as soon as its process has released it."""
        running = self._running[site]
        running.target = target
        running.worker.stream.send(StopSite(site, HANDED_OVER))

    def _place(self, worker: WorkerProcess) -> ProcessLoad:
        left = {site: self._left(site) for site in worker.sites}
        if worker.cores_busy is None:
            return ProcessLoad(left)
        fixed = (one.task.name for one in self._running_in(worker) if self._stays(one))
        return ProcessLoad(left, frozenset(fixed), worker.cores_busy, worker.activity.rate)

    def _stays(self, running: RunningTask) -> bool:
        """Whether a site must not move: a host that was given up would be asked again."""
        known = running.progress
        given_up = known is None or known.given_up
        return bool(given_up) or running.stop is not None or not self._may_move(running.task)

    @property
    def _targets(self) -> list[WorkerProcess]:
        """Processes that a site is moving to."""
        return [one.target for one in self._running.values() if one.target is not None]

    def _share_cores(self) -> None:
        """Divide the cores among processes that have, or soon will have, something to do."""
        targets = self._targets
        busy = [worker for worker in self._workers if worker.sites or worker in targets]
        count = max(self._cores // max(len(busy), 1), 1)
        for worker in busy:
            if worker.cores != count:
                worker.cores = count
                worker.stream.send(UseCores(count))

    def set_total(self, rate: float) -> None:
        """Divided by the rates of sites, which may exceed theirs a little, or by the number of
        sites without rates."""
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
            running.worker.stream.send(StopSite(site, reason))

    def progress(self) -> Sequence[Progress]:
        running = self._running.values()
        return [known for one in running if (known := one.progress) is not None]

    def servers(self) -> Mapping[str, ServerTally]:
        return self._servers

    async def wait(self, seconds: float) -> Sequence[Progress]:
        self._give_out()
        self._even_out()
        self._share_cores()
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

    async def receive(self, worker: WorkerProcess) -> None:
        """Handle all messages of a process, and of its replacements, until the end."""
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

    async def _revive(self, worker: WorkerProcess) -> None:
        worker.bury()
        now = self._clock.now()
        for running in self._running_in(worker):
            task, known = running.task, running.progress
            running.progress = None  # it would look as if nothing arrived
            running.restarts += 1
            running.before = running.target = None
            if running.rate > 0:  # one that is parked does nothing
                soon = now - worker.begun < _SOON_SECONDS
                running.blamed = running.blamed + 1 if soon else 1
            if running.blamed > _MOST_RESTARTS:
                known = known or Progress(task.name, visit=task.visit)
                ended = now - running.began
                self._end(
                    structs.replace(
                        known, state=TaskState.STOPPED, reason=PROCESS_DIED, ended=ended
                    )
                )
        await self._replace(worker)
        worker.cores, worker.begun = 1, self._clock.now()
        self._take_up(worker, self._running_in(worker))
        self._share_cores()
        if self._closing:  # while it was replaced: the word to close went to the one that died
            worker.stream.send(Close())

    def _take_up(self, worker: WorkerProcess, sites: Sequence[RunningTask]) -> None:
        """Let a process continue sites from their journals."""
        now = self._clock.now()
        for running in sites:
            worker.stream.send(running.order(now))
        worker.stream.send(SetRates({running.task.name: running.rate for running in sites}))
        for running in sites:
            if running.stop is not None:
                worker.stream.send(StopSite(running.task.name, running.stop))
        self.set_total(self._total)

    def _running_in(self, worker: WorkerProcess) -> list[RunningTask]:
        return [self._running[site] for site in sorted(worker.sites)]

    def _load(self, worker: WorkerProcess) -> tuple[float, int]:
        return sum(self._left(site) for site in worker.sites), len(worker.sites)

    def _take(self, worker: WorkerProcess, message: Word) -> None:
        match message:
            case Hello(version=theirs):
                worker.greeted = True
                if theirs != version():
                    self._fault = (
                        "Headgate was updated meanwhile; --resume goes on with the new one"
                    )
                    self._news.set()
            case News():
                self._take_news(worker, message)
            case Fault(text=text):
                self._fault = text
                self._news.set()

    def _take_news(self, worker: WorkerProcess, news: News) -> None:
        worker.carried = news.carried
        worker.activity.record(self._clock.now(), news.cpu_seconds, news.carried)
        self._add_up(worker, news.servers)
        for report in (*news.progress, *news.ended):
            self._running[report.site].update(report)
        for report in news.ended:
            if report.reason == HANDED_OVER and not self._closing:
                self._hand_over(report)
            else:
                self._end(report)

    def _end(self, report: Progress) -> None:
        running = self._running.pop(report.site)
        running.worker.sites.remove(report.site)
        report.restarts = running.restarts
        if report.reason == HANDED_OVER:  # to no process, since we are closing
            report.reason = _INTERRUPTED
        self._ended.append(report)
        self._news.set()

    def _hand_over(self, report: Progress) -> None:
        """Its process has released it; another continues."""
        running = self._running[report.site]
        source, target = running.worker, running.target or running.worker
        source.sites.remove(report.site)
        target.sites.add(report.site)
        running.worker, running.target = target, None
        report.state, report.ended, report.reason = TaskState.CRAWLING, None, ""
        running.before = report
        for worker in (source, target):
            worker.activity.forget()
        self._take_up(target, [running])

    def _add_up(self, worker: WorkerProcess, servers: Mapping[str, ServerTally]) -> None:
        """Several processes may fetch from one address."""
        worker.servers.update(servers)
        for address in servers:
            together = ServerTally()
            for known in self._workers:
                for tallies in (known.servers, known.servers_before):
                    together = together.plus(tallies.get(address, _NOTHING))
            self._servers[address] = together
