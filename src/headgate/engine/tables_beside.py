"""Writes the tables of a large crawl in a process of its own while the index is made, because a
core would be idle otherwise.

The process is started when the end of the crawl is near, so that it has imported Arrow (a third of
a second, 60 MB) when it is needed. A small crawl does without it. If the process fails or hangs,
its parent writes the tables.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.crawling.child_process import Child, Pipe
from headgate.storage.collection import RunFolder

if TYPE_CHECKING:  # the process that writes loads as little as it can
    from headgate.crawling.progress import Progress

__all__ = ["TablesBeside", "main"]

_WORTH_PAGES = 1_000
_NEAR_SECONDS = 3.0
"""On a busy machine the process needs a second or two to be ready."""
_PATIENCE_SECONDS, _PATIENCE = 10.0, 10.0
"""It may take this long, plus this many times as long as the index."""
_READY = _BEGIN = _WRITTEN = b""
"""Messages, of which each comes once: from the process, to it, and from it."""


class TablesBeside:
    """The process for one run; `close` ends it."""

    def __init__(self, run: RunFolder, cores: int | None = None) -> None:
        self._run = run
        self._cores = len(os.sched_getaffinity(0)) if cores is None else cores
        self._child: Child | None = None

    def start_if_near(self, sites: Collection[Progress], seconds: float) -> None:
        """Start the process if the end is near. All sites have begun; ``seconds`` have passed."""
        if self._child is not None or self._cores == 1:
            return
        pages = sum(site.pages for site in sites)
        near = sum(site.to_do for site in sites) * seconds <= _NEAR_SECONDS * pages
        if near and pages >= _WORTH_PAGES:
            with suppress(OSError):
                self._child = _start(self._run)

    def begin(self) -> Callable[[], bool] | None:
        """Begin to write; everything is stored. Returns a function that waits for the tables and
        says whether they were written; None: the process is not there, or not ready."""
        child = self._child
        if child is None:
            return None
        try:
            child.receive(0.0)
            child.send(_BEGIN, 0.0)
        except (OSError, EOFError):
            self.close()  # it would only take CPU time from its parent
            return None
        return partial(self._written, child, time.monotonic())

    def _written(self, child: Child, began: float) -> bool:
        took = time.monotonic() - began
        try:
            child.receive(_PATIENCE_SECONDS + _PATIENCE * took)
        except (OSError, EOFError):
            self.close()
            return False
        return True

    def close(self) -> None:
        if self._child is not None:
            self._child.stop()


def _start(run: RunFolder) -> Child:
    return Child("headgate.engine.tables_beside", str(run.collection), run.stamp)


def main(pipe: Pipe, collection: str, stamp: str) -> None:
    """Without a word if it fails: the parent will meet the same error and report it."""
    with suppress(Exception):
        import headgate.storage.tables.arrow_tables  # noqa: F401 - here: for the child alone
        from headgate.storage.sealing import write_tables

        pipe.send(_READY)
        pipe.receive()
        write_tables(RunFolder(Path(collection), stamp))
        pipe.send(_WRITTEN)
