"""A crawling process: a node that obeys orders and sends news until its parent is gone."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import uvloop

from headgate.crawling.child_process import Pipe
from headgate.crawling.node import Node
from headgate.crawling.ports import SetRates, SetTotal, StopSite
from headgate.crawling.progress import Progress
from headgate.crawling.second_reader import SecondReader
from headgate.engine.clock import AwakeClock, SystemClock
from headgate.engine.node import NodeJob, NodeParts, open_node
from headgate.engine.process_messages import (
    Close,
    Fault,
    Hello,
    News,
    Order,
    Start,
    Stream,
    UseCores,
    encoded,
    version,
)
from headgate.fetching.client import HttpFetcher
from headgate.fetching.open_files import raise_limit
from headgate.model.errors import HeadgateError

__all__ = ["live", "main"]


# A crawling process: a node that obeys orders and sends news until it is closed or its parent is
# gone.


OpenNode = Callable[[], AbstractAsyncContextManager[Node]]
"""The node of a process."""

_TELL_SECONDS = 0.25
_TELL_SERVERS_SECONDS = 2.0
"""Servers' counters are evaluated every ten seconds; there may be thousands."""


async def live(
    open_node: OpenNode, stream: Stream[Order], cpu: Callable[[], float] = time.process_time
) -> None:
    """Obey until ordered to end, or the parent is gone. ``cpu``: returns the CPU seconds of the
    process so far."""
    stream.send(Hello(version()))
    try:
        await _serve(open_node, stream, cpu)
    except HeadgateError as fault:
        stream.send(Fault(str(fault)))
    finally:
        with contextlib.suppress(ConnectionError):
            await stream.sent()
        stream.close()


async def _serve(open_node: OpenNode, stream: Stream[Order], cpu: Callable[[], float]) -> None:
    async with open_node() as node:
        reporter = ProgressReporter(node, stream, cpu)
        obeying = asyncio.create_task(_obey(node, stream))
        try:
            while not obeying.done():
                reporter.report(await node.wait(_TELL_SECONDS))
                with contextlib.suppress(ConnectionError):
                    await stream.sent()
            obeying.result()
        finally:
            obeying.cancel()
            await node.close("interrupted")
        reporter.report(await node.wait(0), last=True)


async def _obey(node: Node, stream: Stream[Order]) -> None:
    """Until ordered to end, or the parent is gone."""
    while True:
        match await stream.receive():
            case Start(task=task, at=at):
                node.start(task, at)
            case SetRates(rates=rates):
                node.set_rates(rates)
            case SetTotal(rate=rate):
                node.set_total(rate)
            case UseCores(count=count):
                node.use_cores(count)
            case StopSite(site=site, reason=reason):
                node.stop(site, reason)
            case Close() | None:
                return


class ProgressReporter:
    """What was last reported to the parent, so that only changes are sent."""

    def __init__(self, node: Node, stream: Stream[Order], cpu: Callable[[], float]) -> None:
        self._node = node
        self._stream = stream
        self._cpu = cpu
        self._progress: dict[str, Progress] = {}
        self._requests: dict[str, int] = {}
        """By address."""
        self._time = asyncio.get_running_loop().time
        self._told = self._told_servers = self._time()

    def report(self, ended: Sequence[Progress], *, last: bool = False) -> None:
        """Report ended sites at once, others at intervals."""
        for progress in ended:
            self._progress.pop(progress.site, None)
        now = self._time()
        changed: list[Progress] = []
        if now - self._told >= _TELL_SECONDS or last:
            self._told = now
            changed = self._changed()
        elif not ended:
            return
        servers = {}
        if now - self._told_servers >= _TELL_SERVERS_SECONDS or last:
            self._told_servers = now
            tallies = self._node.servers().items()
            servers = {
                address: tally.totals()
                for address, tally in tallies
                if tally.requests != self._requests.get(address)
            }
            self._requests.update({address: t.requests for address, t in servers.items()})
        carried, cpu = self._node.carried(), self._cpu()
        self._stream.send(News(changed, list(ended), servers, carried, cpu))

    def _changed(self) -> list[Progress]:
        now = {progress.site: encoded(progress) for progress in self._node.progress()}
        changed = [raw for site, raw in now.items() if self._progress.get(site) != raw]
        self._progress = now
        return changed


def main(pipe: Pipe) -> None:
    """A worker process, wired up. It imports no more than a node needs, because the crawl waits.

    The main function of a worker process. It is ours, even if a program in Python started it.
    It ends with its parent, at once if the system supports that: a resumed crawl must be the only
    writer of its journals.
    """
    raise_limit()
    job: NodeJob = pickle.loads(pipe.receive())
    gc.freeze()  # modules stay: the collector need not traverse them again
    parts = NodeParts(
        SystemClock(),
        partial(HttpFetcher, clock=AwakeClock()),
        partial(SecondReader, cores=1),
    )
    uvloop.run(_live_over(pipe, partial(open_node, job, parts)))


async def _live_over(pipe: Pipe, open_node: OpenNode) -> None:
    await live(open_node, await Stream.over(pipe, Order))
