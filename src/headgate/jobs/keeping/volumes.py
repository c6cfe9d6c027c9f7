"""The volumes of a keeper: one is open, earlier ones are sealed one after the other.

A volume is a run that gets visits for a day, or until it is large. It is sealed in a process of its
own once its last visit has ended; if that fails, it is reported as a trouble and tried again every
hour. After a crash the newest one is continued, unless it is old.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from headgate.control.catalog import Catalog, Outcome
from headgate.crawling.ports import Clock
from headgate.jobs.keeping.volume_recovery import recover_staged, recover_volume, remember_all
from headgate.jobs.opening import JobKind, kind_of
from headgate.model.errors import HeadgateError, UserMistake
from headgate.model.keep_status import Trouble
from headgate.model.keeping import VolumeBounds
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder, began
from headgate.storage.retention.freed import Freed
from headgate.storage.staged_visits import staged_visits

__all__ = ["KeepVolumes", "SealVolume"]

SealVolume = Callable[[RunFolder], Awaitable[None]]
"""Makes index, tables and report of a volume without running visits; may raise a
`HeadgateError`."""

Retain = Callable[[Path, float], Awaitable[Freed]]
"""Removes versions of a collection that need not be kept at the given time; may raise a
`HeadgateError`."""

_AGAIN_SECONDS = 3600.0
_RETENTION = "retention"
_SETTINGS = '{"kept": true}'


@dataclass(slots=True)
class KeepVolumes:
    """Needs the collection's lock."""

    collection: Collection
    catalog: Catalog
    clock: Clock
    seal: SealVolume
    retain: Retain
    bounds: VolumeBounds
    open: RunFolder | None = None
    sealed: int = 0
    freed: Freed = field(default_factory=Freed)
    """Since the collection was first kept."""
    troubles: dict[str, Trouble] = field(default_factory=dict)
    """By stamp, and one for retention."""
    _opened: float = 0.0
    _waiting: deque[RunFolder] = field(default_factory=deque)
    _sealing: asyncio.Task[None] | None = None
    _writers: Counter[str] = field(default_factory=Counter)
    _not_before: dict[str, float] = field(default_factory=dict)

    def recover(self, sites: Iterable[Site]) -> list[str]:
        """Recover what an earlier keeper left: its visits are recorded, its volumes continued or
        queued for sealing. Returns repairs, a sentence each. ``sites``: those that are kept."""
        kept = {site.name: site for site in sites}
        remarks: list[str] = []
        runs = self.collection.runs()
        self.sealed = sum(not run.unfinished for run in runs)
        unfinished = [run for run in runs if run.unfinished]
        for run in unfinished:
            self._refuse_others(run)
        if staged_visits(self.collection.path):
            unfinished = unfinished or [self._new()]
            recover_staged(unfinished)
        for run in reversed(unfinished):
            recover_volume(run)
            self.catalog.begin_run(run.stamp, began(run), _SETTINGS)
            remarks += remember_all(run, self.catalog, self.clock.wall(), kept)
            if self.open is not None:
                self._waiting.append(self.open)
            self.open, self._opened = run, began(run)
        if self.open is not None and self.is_full():
            self.turn()
        return remarks

    async def rejoin(self, sites: Iterable[Site]) -> list[str]:
        """Recover after a fault of this machine, when no visit runs."""
        if self._sealing is not None:
            await self._sealing
            self._sealing = None
        self.open = None
        self._waiting.clear()
        self._writers.clear()
        return self.recover(sites)

    def enter(self) -> RunFolder:
        """The volume for a visit that begins now."""
        if self.open is None:
            self.open, self._opened = self._new(), self.clock.wall()
        self._writers[self.open.stamp] += 1
        return self.open

    def leave(self, stamp: str) -> None:
        """A visit has ended and is recorded in the catalog."""
        self._writers[stamp] -= 1
        if not self._writers[stamp]:
            del self._writers[stamp]

    def is_full(self) -> bool:
        """Whether the next visit should go to a new volume."""
        if self.open is None:
            return False
        since = self.clock.wall() - self._opened
        age, size = self.bounds.seconds, self.bounds.size
        old = age is not None and not -age < since < age  # a clock set back ends one, too
        return old or (size is not None and _bytes(self.open) >= size)

    def turn(self) -> None:
        """Close the open volume for new visits."""
        if self.open is not None:
            self._waiting.append(self.open)
            self.open = None

    @property
    def waiting(self) -> tuple[str, ...]:
        """Volumes that wait to be sealed, or are being sealed."""
        return tuple(run.stamp for run in self._waiting)

    def tend(self) -> None:
        """Start to seal the next volume that can be, if no sealing is in progress."""
        if self._sealing is not None:
            if not self._sealing.done():
                return
            self._sealing.result()
            self._sealing = None
        now = self.clock.now()
        for run in self._waiting:
            stamp = run.stamp
            if not self._writers[stamp] and self._not_before.get(stamp, now) <= now:
                self._sealing = asyncio.get_running_loop().create_task(self._seal(run))
                return

    async def finish(self) -> None:
        """Seal all volumes that can be, at the end of the keeper."""
        self.turn()
        if self._sealing is not None:
            await self._sealing
            self._sealing = None
        for run in list(self._waiting):
            await self._seal(run)

    def _new(self) -> RunFolder:
        wall = self.clock.wall()
        run = self.collection.new_run(datetime.fromtimestamp(wall, UTC))
        run.save(JobKind.KEEP.state, b"{}")
        self.catalog.begin_run(run.stamp, wall, _SETTINGS)
        return run

    def _refuse_others(self, run: RunFolder) -> None:
        kind = kind_of(run)
        if kind not in (None, JobKind.KEEP):
            raise UserMistake(
                f"{self.collection.path} has an unfinished {kind} ({run.stamp}); finish it with"
                f" 'headgate {kind} --resume', or give it up with 'headgate crawl --abandon'"
            )
        run.refuse_links()

    async def _seal(self, run: RunFolder) -> None:
        stamp = run.stamp
        try:
            await self.seal(run)
            run.finish()
            self.catalog.end_run(stamp, self.clock.wall(), Outcome.FINISHED)
        except (HeadgateError, OSError) as fault:
            wall = self.clock.wall()
            since = self.troubles[stamp].since if stamp in self.troubles else wall
            self.troubles[stamp] = Trouble(
                f"volume {stamp} cannot be sealed: {fault}", since,
                "make room or repair what is named; it is tried again every hour",
            )  # fmt: skip
            self._not_before[stamp] = self.clock.now() + _AGAIN_SECONDS
            return
        self._waiting.remove(run)
        self.troubles.pop(stamp, None)
        self._not_before.pop(stamp, None)
        self.sealed += 1
        await self._remove_old()

    async def _remove_old(self) -> None:
        """Called after each volume; a failure is retried after the next one."""
        try:
            freed = await self.retain(self.collection.path, self.clock.wall())
        except (HeadgateError, OSError) as fault:
            self.troubles[_RETENTION] = Trouble(
                f"old versions cannot be removed: {fault}", self.clock.wall(),
                "make room or repair what is named; it is tried again after the next volume",
            )  # fmt: skip
            return
        self.troubles.pop(_RETENTION, None)
        self.freed = self.freed.plus(freed)


def _bytes(run: RunFolder) -> int:
    try:
        return sum(file.stat().st_size for file in run.warc.iterdir())
    except OSError:
        return 0
