"""Watches a node: on a terminal a line that is updated, in a log one line a minute."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from headgate.cli.terminal import on_interrupt, say
from headgate.engine.real_parts import real_parts
from headgate.engine.watcher import Watcher
from headgate.features.grid.node.worker import Worker, WorkerJob, work
from headgate.features.grid.transport.connection import connected
from headgate.features.grid.transport.credentials import Token
from headgate.features.grid.transport.requests import NatsTasks
from headgate.features.grid.view import node_line
from headgate.model.grid import NodeStatus

__all__ = ["node_watched"]

_ENDED_AT_ONCE = 130
_WIDTH = 120


class NodeWatch(Watcher[Worker, NodeStatus]):
    """For a person, or a log."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._shown = False
        self._worker: Worker | None = None
        self._waiting: asyncio.Task[NodeStatus] | None = None
        self._stops = 0

    @property
    def state_seconds(self) -> float:
        return 1.0 if self._live else 60.0

    def on_messages(self, words: Sequence[str]) -> None:
        self._clear()
        for word in words:
            say(word)

    def on_progress(self, seen: NodeStatus) -> None:
        if self._quiet:
            return
        if not self._live:
            say(node_line(seen))
            return
        self._clear()
        with suppress(OSError, ValueError):
            sys.stderr.write(node_line(seen)[:_WIDTH])
            sys.stderr.flush()
        self._shown = True

    def on_start(self, running: Worker) -> None:
        self._worker = running

    def begin(self, node: asyncio.Task[NodeStatus]) -> None:
        self._waiting = node

    def stop(self) -> None:
        """First time: end in order. Second time: at once; what is stored stays stored."""
        self._stops += 1
        if self._stops > 1:
            os._exit(_ENDED_AT_ONCE)
        if self._worker is not None:
            self._worker.stop()
        elif self._waiting is not None:
            self._waiting.cancel()

    def _clear(self) -> None:
        if self._shown:
            with suppress(OSError, ValueError):
                sys.stderr.write("\r\x1b[K")
            self._shown = False


async def node_watched(token: Token, job: WorkerJob, *, quiet: bool) -> NodeStatus:
    watch = NodeWatch(quiet=quiet)

    async def at_work() -> NodeStatus:
        async with connected(token, lambda word: watch.on_messages([word])) as door:
            source = NatsTasks(door, token.node)
            return await work(job, real_parts(), source, watch, watch.state_seconds)

    node = asyncio.create_task(at_work())
    watch.begin(node)
    on_interrupt(asyncio.get_running_loop(), watch.stop)
    try:
        return await node
    except asyncio.CancelledError:
        return NodeStatus(node=token.node, state="left")
