"""Reading that takes long, beside the event loop.

A page of some kilobytes is read in less time than a thread needs to wake up. A page or a sitemap of
megabytes can take seconds, during which no other site would get a byte and time-outs would be
ours: such are read in a thread of their own. In one thread only, for all sites of the process, so
that just one of them is held in its decoded form at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["LARGE_BYTES", "read_aside"]

LARGE_BYTES = 250_000
"""From here on reading takes longer than a few milliseconds."""

_THREAD = ThreadPoolExecutor(1, thread_name_prefix="reading")
_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found")


async def read_aside(
    read: Callable[_Arguments, _Found], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Found:
    """What ``read`` answers; other tasks go on meanwhile."""
    return await asyncio.wrap_future(_THREAD.submit(read, *args, **kwargs))
