"""Waits for files that can be read. `select.select` fails for a file number above 1,023, which a
crawl of many sites passes."""

from __future__ import annotations

import select
from collections.abc import Iterable
from typing import Protocol, TypeVar

__all__ = ["readable"]


class _File(Protocol):
    def fileno(self) -> int: ...


_AnyFile = TypeVar("_AnyFile", bound=_File)


def readable(files: Iterable[_AnyFile], seconds: float) -> list[_AnyFile]:
    """Those that have data or have ended; wait up to ``seconds`` for the first."""
    by_number = {file.fileno(): file for file in files}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1_000)]
