"""Writes the tables of a large crawl in a process of its own while the index is made, because a
core would be idle otherwise.

The process is started when the end of the crawl is near, so that it has imported Arrow (a third of
a second, 60 MB) when it is needed. A small crawl does without it. If the process fails or hangs,
its parent writes the tables.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.crawling.child_process import die_with_parent, leave_signals_to_parent, readable
from headgate.model.errors import HeadgateError
from headgate.storage.collection import RunFolder

if TYPE_CHECKING:  # the process that writes loads as little as it can
    from headgate.crawling.progress import Progress

__all__ = ["TablesBeside"]

_WORTH_PAGES = 1_000
_NEAR_SECONDS = 3.0
"""On a busy machine the process needs a second or two to be ready."""
_PATIENCE_SECONDS, _PATIENCE = 10.0, 10.0
"""It may take this long, plus this many times as long as the index."""
_WORD = b"."
"""Sent by the process when it is ready, and to it when it may begin."""


class TablesBeside:
    """The process for one run; `close` ends it."""

    def __init__(self, run: RunFolder, cores: int | None = None) -> None:
        self._run = run
        self._cores = len(os.sched_getaffinity(0)) if cores is None else cores
        self._process: subprocess.Popen[bytes] | None = None

    def look(self, sites: Collection[Progress], seconds: float) -> None:
        """Start the process if the end is near. All sites have begun; ``seconds`` have passed."""
        if self._process is not None or self._cores == 1:
            return
        pages = sum(site.pages for site in sites)
        near = sum(site.to_do for site in sites) * seconds <= _NEAR_SECONDS * pages
        if near and pages >= _WORTH_PAGES:
            with suppress(OSError):
                self._process = _start(self._run)

    def begin(self) -> Callable[[], bool] | None:
        """Begin to write; everything is stored. Returns a function that waits for the tables and
        says whether they were written; None: the process is not there, or not ready."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        if not readable([process.stdout], 0.0):
            self.close()  # it would only take CPU time from its parent
            return None
        try:
            process.stdin.write(_WORD)
        except OSError:
            return None
        return partial(self._written, process, time.monotonic())

    def _written(self, process: subprocess.Popen[bytes], began: float) -> bool:
        took = time.monotonic() - began
        try:
            return process.wait(_PATIENCE_SECONDS + _PATIENCE * took) == 0
        except subprocess.TimeoutExpired:
            self.close()
            return False

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for end in (self._process.stdin, self._process.stdout):
                if end is not None:
                    end.close()


def _start(run: RunFolder) -> subprocess.Popen[bytes]:
    here = [sys.executable, "-m", "headgate.engine.tables_beside", str(os.getpid())]
    return subprocess.Popen(
        [*here, str(run.collection), run.stamp],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the parent will meet the same error and report it
        bufsize=0,
    )


def main() -> None:
    """Signals are the parent's to hear."""
    leave_signals_to_parent()
    die_with_parent(int(sys.argv[1]))
    import headgate.storage.tables.arrow_tables  # noqa: F401 - here: for the child alone
    from headgate.storage.sealing import write_tables

    os.write(sys.stdout.fileno(), _WORD)
    if sys.stdin.buffer.read(len(_WORD)):
        try:
            write_tables(RunFolder(Path(sys.argv[2]), sys.argv[3]))
        except HeadgateError:
            sys.exit(1)


if __name__ == "__main__":
    main()
