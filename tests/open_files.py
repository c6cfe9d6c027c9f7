"""A process with many open files, as a crawl of thousands of sites has them."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["files_opened_up_to"]


@contextmanager
def files_opened_up_to(number: int) -> Iterator[None]:
    """Meanwhile, what is opened has a higher number than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number + 100), hard))
    opened = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while opened[-1] < number:
            opened.append(os.dup(opened[0]))
        yield
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
