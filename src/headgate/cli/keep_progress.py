"""Watches a keeper: prints a line per event, and handles signals."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

from headgate.cli.terminal import say
from headgate.engine.real_parts import real_parts
from headgate.engine.watcher import Watcher
from headgate.features.keep.job import KeepJob, Stoppable
from headgate.features.keep.keeper import keep
from headgate.features.keep.status import KeepStatus
from headgate.features.keep.view.words import status_line

__all__ = ["KeepWatch", "heeding_signals", "keep_watched"]

_ENDED_AT_ONCE = 130


class KeepWatch(Watcher[Stoppable, KeepStatus]):
    """For a person, or a log."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._keeper: Stoppable | None = None
        self._stops = 0
        self._visits = 0

    def on_messages(self, words: Sequence[str]) -> None:
        for word in words:
            say(word)

    def on_progress(self, seen: KeepStatus) -> None:
        if self._quiet:
            return
        say(status_line(seen))

    def on_start(self, running: Stoppable) -> None:
        self._keeper = running
        if self._stops:
            running.stop()

    @property
    def stopped(self) -> bool:
        return self._stops > 0

    def stop(self) -> None:
        """First time: end in order. Second time: at once; what is stored stays stored."""
        self._stops += 1
        if self._stops > 1:
            os._exit(_ENDED_AT_ONCE)
        if self._keeper is not None:
            self._keeper.stop()

    def reread_site_file(self) -> None:
        if self._keeper is not None:
            self._keeper.reread_site_file()


async def keep_watched(job: KeepJob, *, quiet: bool) -> KeepStatus:
    return await keep(job, real_parts(), heeding_signals(KeepWatch(quiet=quiet)))


def heeding_signals(watch: KeepWatch) -> KeepWatch:
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, watch.stop)
    loop.add_signal_handler(signal.SIGHUP, watch.reread_site_file)
    return watch
