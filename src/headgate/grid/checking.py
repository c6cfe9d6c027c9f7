"""What a result must be like to be accepted.

Files are read in threads that are for nothing else: with those of the catalog, some large results
would leave no thread to answer claims and heartbeats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from headgate.crawling.progress import Progress, TaskState
from headgate.crawling.task_messages import Manifest, Put
from headgate.model.task import Task
from headgate.storage.arriving import Deliveries, are_files_of
from headgate.storage.journals.journal import Owner

__all__ = ["Checking", "Unfit", "check_announced", "check_told"]

_AT_ONCE = 2

_Found = TypeVar("_Found")


class Unfit(Exception):
    """A result that is not accepted."""


def check_announced(put: Put, owner: Owner, most_bytes: float) -> None:
    if not are_files_of(owner, (file.name for file in put.files)):
        raise Unfit(f"these are not the files of a visit to {owner.site}")
    size = sum(file.size for file in put.files)
    if size > most_bytes:
        raise Unfit(f"{size:,} bytes of {owner.site} are far more than was expected")


def check_told(progress: Progress, task: Task) -> None:
    """A result that tells of another site would end that one's crawl, and its own would never
    end."""
    if (progress.site, progress.visit) != (task.name, task.visit):
        raise Unfit(f"the result of {task.name} is told as one of {progress.site[:100]!r}")
    if progress.state not in (TaskState.DONE, TaskState.STOPPED):
        raise Unfit(f"the result of {task.name} is told as that of a crawl that has not ended")


@dataclass(slots=True)
class Checking:
    arrivals: Deliveries
    _threads: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, _AT_ONCE, "checking")
    )

    async def take(self, manifest: Manifest, owner: Owner) -> tuple[int, ...]:
        """Numbers of files that are wrong; none: all are stored."""
        return await self._aside(self._take, manifest, owner)

    async def is_wrong(self, manifest: Manifest) -> bool:
        return bool(await self._aside(self.arrivals.wrong, manifest.lease, manifest.files))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _take(self, manifest: Manifest, owner: Owner) -> tuple[int, ...]:
        arrivals, lease, files = self.arrivals, manifest.lease, manifest.files
        wrong = arrivals.wrong(lease, files)
        if not wrong:
            if not arrivals.is_journal_of(lease, files, owner):
                raise Unfit(f"the journal of {owner.site} is none that Headgate wrote")
            arrivals.keep(lease, files)
        return wrong

    async def _aside(self, check: Callable[..., _Found], *values: object) -> _Found:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, check, *values)
