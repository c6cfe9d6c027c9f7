"""A worker process, wired up. It imports no more than a node needs, because the crawl waits."""

from __future__ import annotations

import gc
import socket
from functools import partial

from headgate.crawling.clock import SystemClock
from headgate.crawling.second_reader import SecondReader
from headgate.fetching.http import HttpFetcher
from headgate.fetching.open_files import raise_limit
from headgate.grid.crawling_child import work
from headgate.jobs.node import NodeJob, NodeParts, open_node

__all__ = ["crawling_process"]


def crawling_process(job: NodeJob, end: socket.socket) -> None:
    """The main function of a worker process. It is ours, even if a program in Python started it."""
    raise_limit()
    gc.freeze()  # modules stay: the collector need not traverse them again
    parts = NodeParts(SystemClock(), HttpFetcher, partial(SecondReader, cores=1))
    work(partial(open_node, job, parts), end)
