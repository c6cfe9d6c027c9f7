"""Nodes in processes of their own, one per core when asked: the fleet of one machine.

A site lives in one process from start to end. Control gives every site its rate, and the rates add
up to the budget at the most; so each process holds its share alone, and no counter is shared.

The conversation, over one pipe per process, is made of tuples: ("rates", {...}), ("total", rate),
("stop", site, reason), ("close", reason) down; ("progress", [...], {address: tally}, bytes
carried), ("ended", progress), ("fault", text) up.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import multiprocessing
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import uvloop

from headgate.crawling.node import Node
from headgate.crawling.progress import Progress
from headgate.grid.parts import NodeJob, open_node
from headgate.grid.with_parent import die_with_parent
from headgate.model.errors import WorldFault
from headgate.traffic.server_tally import ServerTally

__all__ = ["ProcessFleet"]

_TELL_SECONDS = 0.25


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    sites: set[str] = field(default_factory=set)
    """Running there now."""
    servers: Mapping[str, ServerTally] = field(default_factory=dict)
    carried: int = 0


class ProcessFleet:
    """The adapter of `headgate.crawling.ports.Fleet` over processes."""

    def __init__(self, job: NodeJob, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._home: dict[str, _Worker] = {}
        self._rates: dict[str, float] = {}
        """Of the sites that run."""
        self._total = math.inf
        self._progress: dict[str, Progress] = {}
        self._ended: list[Progress] = []
        self._fault = ""
        self._news = asyncio.Event()
        self._workers = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(job, theirs), daemon=True)
            process.start()
            theirs.close()
            worker = _Worker(process, ours)
            self._workers.append(worker)
            asyncio.get_running_loop().add_reader(ours.fileno(), self._hear, worker)

    def set_rates(self, rates: Mapping[str, float]) -> None:
        shares: dict[int, dict[str, float]] = {}
        for site, rate in rates.items():
            if site not in self._home:
                worker = min(self._workers, key=lambda worker: len(worker.sites))
                worker.sites.add(site)
                self._home[site] = worker
            shares.setdefault(self._workers.index(self._home[site]), {})[site] = rate
        self._rates.update(rates)
        for index, share in shares.items():
            self._workers[index].pipe.send(("rates", share))
        self.set_total(self._total)

    def set_total(self, rate: float) -> None:
        """A total below what the rates add up to is divided by them, or by sites without any."""
        self._total = rate
        whole = sum(self._rates.values())
        for worker in self._workers:
            part = 1.0
            if math.isinf(whole):
                part = len(worker.sites) / len(self._rates)
            elif whole > rate:
                part = sum(self._rates[site] for site in worker.sites) / whole
            worker.pipe.send(("total", rate * part if part else 0.0))

    def carried(self) -> int:
        return sum(worker.carried for worker in self._workers)

    def stop(self, site: str, reason: str) -> None:
        if site in self._home:
            self._home[site].pipe.send(("stop", site, reason))

    def progress(self) -> Sequence[Progress]:
        return list(self._progress.values())

    def servers(self) -> Mapping[str, ServerTally]:
        together: dict[str, ServerTally] = {}
        for worker in self._workers:
            for address, tally in worker.servers.items():
                known = together.get(address)
                together[address] = tally if known is None else known.plus(tally)
        return together

    async def wait(self, seconds: float) -> Sequence[Progress]:
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()
        if self._fault:
            raise WorldFault(self._fault)
        ended, self._ended = self._ended, []
        return ended

    async def close(self, reason: str) -> None:
        for worker in self._workers:
            if worker.process.is_alive():
                worker.pipe.send(("close", reason))
        await asyncio.gather(*(asyncio.to_thread(worker.process.join) for worker in self._workers))
        for worker in self._workers:
            self._hear(worker)

    def _hear(self, worker: _Worker) -> None:
        try:
            while worker.pipe.poll():
                self._take(worker, worker.pipe.recv())
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(worker.pipe.fileno())
            if worker.sites and not self._fault:
                self._fault = "a crawling process ended unexpectedly; --resume goes on"
            self._news.set()

    def _take(self, worker: _Worker, message: tuple[Any, ...]) -> None:
        match message:
            case ("progress", reports, servers, carried):
                worker.servers, worker.carried = servers, carried
                self._progress.update({report.site: report for report in reports})
            case ("ended", report):
                self._progress[report.site] = report
                worker.sites.discard(report.site)
                self._rates.pop(report.site, None)
                self._ended.append(report)
                self._news.set()
            case ("fault", text):
                self._fault = text
                self._news.set()


def _work(job: NodeJob, pipe: Connection) -> None:
    """A process's whole life. The terminal's interrupt is the parent's to hear.

    Without its parent it ends, at once where the system can see to that: whoever resumes the crawl
    must not find anybody writing to its journals."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        die_with_parent(parent.pid)
    with pipe, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        try:
            uvloop.run(_serve(job, pipe))
        except WorldFault as fault:
            pipe.send(("fault", str(fault)))


async def _serve(job: NodeJob, pipe: Connection) -> None:
    closed = asyncio.Event()
    async with open_node(job) as node:

        def obey() -> None:
            try:
                while pipe.poll():
                    _perform(node, pipe.recv(), closed)
            except (EOFError, OSError):
                closed.set()  # the parent is gone

        loop = asyncio.get_running_loop()
        loop.add_reader(pipe.fileno(), obey)
        try:
            while not closed.is_set():
                for ended in await node.wait(_TELL_SECONDS):
                    pipe.send(("ended", ended))
                _tell_progress(node, pipe)
        finally:
            loop.remove_reader(pipe.fileno())
            await node.close("interrupted")
        for ended in await node.wait(0):
            pipe.send(("ended", ended))
        _tell_progress(node, pipe)


def _tell_progress(node: Node, pipe: Connection) -> None:
    servers = {address: tally.totals() for address, tally in node.servers().items()}
    pipe.send(("progress", list(node.progress()), servers, node.carried()))


def _perform(node: Node, message: tuple[Any, ...], closed: asyncio.Event) -> None:
    match message:
        case ("rates", rates):
            node.set_rates(rates)
        case ("total", rate):
            node.set_total(rate)
        case ("stop", site, reason):
            node.stop(site, reason)
        case ("close", _):
            closed.set()
