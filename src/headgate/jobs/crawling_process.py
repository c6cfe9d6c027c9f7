"""A process of a crawl, wired: it loads no more than a node needs, for the crawl waits for it."""

from __future__ import annotations

import gc
import socket
from functools import partial

from headgate.crawling.clock import SystemClock
from headgate.crawling.second_reader import SecondReader
from headgate.fetching.http import HttpFetcher
from headgate.grid.crawling_child import work
from headgate.jobs.node import NodeJob, NodeParts, open_node

__all__ = ["crawling_process"]


def crawling_process(job: NodeJob, end: socket.socket) -> None:
    """The whole life of a process with a node in it, which is told what cores there are."""
    gc.freeze()  # what is loaded stays; nobody need look through it again
    parts = NodeParts(SystemClock(), HttpFetcher, partial(SecondReader, cores=1))
    work(partial(open_node, job, parts), end)
