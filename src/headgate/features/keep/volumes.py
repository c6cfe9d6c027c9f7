"""The volumes of a keeper: one is open, earlier ones are sealed; after a crash, recovered."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from headgate.control.catalog import Catalog, Outcome, Visit
from headgate.crawling.ports import Clock
from headgate.crawling.progress import FetchCounts
from headgate.engine.runs import JobKind, kind_of
from headgate.features.keep.status import Trouble
from headgate.features.keep.visit_memory import remember_visit, tell_others
from headgate.model.errors import HeadgateError, UserMistake, WorldFault
from headgate.model.keeping import VolumeBounds
from headgate.model.run_report import RunReport, SiteReport
from headgate.model.site import Site
from headgate.storage.append_file import sync_folder
from headgate.storage.collection import Collection, RunFolder, began
from headgate.storage.journals.journal import Owner, read_owner
from headgate.storage.journals.run_journals import SiteJournal, recover_files, site_journals
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.remembering import mend
from headgate.storage.memory.site import SiteMemory, VisitCounts
from headgate.storage.retention import Freed
from headgate.storage.safe_files import writing

__all__ = [
    "KEPT",
    "KeepVolumes",
    "move_visit",
    "prepare_staging",
    "recover_staged",
    "recover_volume",
    "remember_one",
    "staged_visits",
    "staging",
    "volume_report",
]

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
    """The volumes of a keeper: one is open, earlier ones are sealed one after the other.

    A volume is a run that gets visits for a day, or until it is large. It is sealed in a process of
    its own once its last visit has ended; if that fails, it is reported as a trouble and tried
    again every hour. After a crash the newest one is continued, unless it is old.

    Needs the collection's lock.
    """

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

    def has_freed(self, freed: Freed) -> None:
        """Retention removed these, now or under an earlier keeper."""
        self.freed = self.freed.plus(freed)

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
        self.has_freed(freed)


def _bytes(run: RunFolder) -> int:
    try:
        return sum(file.stat().st_size for file in run.warc.iterdir())
    except OSError:
        return 0


# Recovers a volume whose keeper died: files are cut to what was committed, and visits that were
# running end with what they had stored: it is remembered, and its changes and links are passed on,
# as at their own end. Their other pages are still due, so nothing has to be resumed.
#
# Idempotent.


_MOST_VISITS = 1_000_000


def recover_staged(volumes: Sequence[RunFolder]) -> None:
    """Move visits that nodes delivered to the volume that has some of their files already, or else
    to the newest one, the first of ``volumes``."""
    for owner in staged_visits(volumes[0].collection):
        places = ((run, run.place(owner.site, visit=owner.visit)) for run in volumes)
        begun = (run for run, place in places if place.warc.path(1).exists())
        move_visit(next(begun, volumes[0]), owner)


def recover_volume(run: RunFolder) -> None:
    """Recover journals and WARC files that no process writes to; all must be sound."""
    for fault in recover_files(run):
        raise WorldFault(fault)


def remember_all(
    run: RunFolder, catalog: Catalog, wall: float, sites: Mapping[str, Site]
) -> list[str]:
    """Merge visits into the memories of their sites, and record those that the catalog does not
    have; return repairs, a sentence each. ``sites``: those that are kept, by name."""
    remarks: list[str] = []
    journals = site_journals(run)
    for site in dict.fromkeys(owner.site for owner in journals):
        mine = sorted(owner for owner in journals if owner.site == site)
        known = {v.visit for v in catalog.history(site, _MOST_VISITS) if v.run == run.stamp}
        for owner in mine:
            visit, mended = remember_one(run, owner, journals[owner], wall, sites.get(site))
            remarks += mended
            if owner.visit not in known:
                catalog.record_visits([visit])
    return remarks


def remember_one(
    run: RunFolder, owner: Owner, journal: SiteJournal, wall: float, site: Site | None
) -> tuple[Visit, list[str]]:
    """Merge a visit of an earlier process; return it with repairs, a sentence each. ``site``: None
    if it is kept no more; then nobody is told."""

    def beside(old: SiteMemory) -> None:
        if site is not None:
            tell_others(run, owner, site, journal.commits, old)

    try:
        counts = remember_visit(run, owner, journal.commits, wall, beside=beside)
    except DamagedMemory:
        mended = mend(Collection(run.collection), owner.site)
        return _visit(run, owner, journal, VisitCounts()), mended
    return _visit(run, owner, journal, counts), []


def _visit(run: RunFolder, owner: Owner, journal: SiteJournal, counts: VisitCounts) -> Visit:
    landed, wire_bytes, moments = FetchCounts(), 0, []
    for rows in journal.pages():
        for row in rows:
            landed.count(
                row.role, row.status, row.error, row.payload_bytes, unchanged=row.unchanged
            )
            wire_bytes += row.wire_bytes
            moments.append(row.fetched_at)
    started, finished = min(moments, default=0.0), max(moments, default=0.0)
    return Visit(
        owner.site,
        run.stamp,
        started=started,
        finished=finished,
        seconds=finished - started,
        pages=landed.pages,
        payload_bytes=landed.payload_bytes,
        wire_bytes=wire_bytes,
        alpha=None,
        complete=False,
        errors=dict(landed.errors),
        visit=owner.visit,
        asked=counts.asked,
        changed=counts.changed,
        same=counts.same,
        new=counts.new,
        gone=counts.gone,
        saved_bytes=counts.saved_bytes,
    )


def volume_report(stamp: str, started: float, visits: Sequence[Visit]) -> RunReport:
    """The report of a volume: the sum of each site's visits.

    ``visits`` in the order of their sites.
    """
    end = max((visit.finished for visit in visits), default=started)
    seconds = max(end - started, 0.0)
    sites = tuple(
        _site(name, list(theirs), started) for name, theirs in groupby(visits, attrgetter("site"))
    )
    wire_bytes = sum(visit.wire_bytes for visit in visits)
    return RunReport(
        stamp=stamp,
        started_at=started,
        seconds=seconds,
        policy="keep",
        budget=None,
        budget_changes=(),
        crawlers=1,
        pages=sum(visit.pages for visit in visits),
        unchanged=sum(visit.same for visit in visits),
        bytes=sum(visit.payload_bytes for visit in visits),
        wire_bytes=wire_bytes,
        mean_rate=wire_bytes / seconds if seconds else 0.0,
        peak_rate_1s=None,
        utilisation=None,
        sites=sites,
        timeline=(),
    )


def _site(name: str, visits: Sequence[Visit], started: float) -> SiteReport:
    first, last = visits[0], visits[-1]
    return SiteReport(
        name=name,
        state="done" if last.complete else "stopped",
        pages=_sum(visit.pages for visit in visits),
        unchanged=_sum(visit.same for visit in visits),
        fetches=_sum(visit.asked for visit in visits),
        bytes=_sum(visit.payload_bytes for visit in visits),
        wire_bytes=_sum(visit.wire_bytes for visit in visits),
        errors={},
        started=max(first.started - started, 0.0),
        finished=max(last.finished - started, 0.0),
        deadline=None,
        met=None,
        planned_start=None,
        planned_end=None,
    )


def _sum(counts: Iterable[int]) -> int:
    return sum(counts)


# Moves visits that nodes made for a keeper into a volume.
#
#     arriving/spool/kept/<site>~<visit>.journal          ─►   spool/<volume>/
#     arriving/runs/kept/warc/<site>~<visit>-00001.warc.gz ─►   runs/<volume>/warc/
#
# Results are received under one name, whichever volume is open: it may be full by the time they are
# complete. WARC files are moved first and the journal last, so that after a crash the journal says
# what is still to be moved.


KEPT = "kept"
"""The run that a keeper's tasks belong to, on the board and on nodes."""


def staging(collection: Path) -> RunFolder:
    """Where visits wait to be moved."""
    return RunFolder(collection / "arriving", KEPT)


def prepare_staging(collection: Path) -> RunFolder:
    run = staging(collection)
    run.refuse_links()
    with writing(run.path):
        run.warc.mkdir(parents=True, exist_ok=True)
        run.spool.mkdir(parents=True, exist_ok=True)
    return run


def move_visit(volume: RunFolder, owner: Owner) -> None:
    """Durable when it returns; done again, it changes nothing."""
    here = staging(volume.collection).place(owner.site, visit=owner.visit)
    there = volume.place(owner.site, visit=owner.visit)
    number = 1
    while (file := here.warc.path(number)).exists() or there.warc.path(number).exists():
        if file.exists():
            with writing(there.warc.path(number)):
                file.rename(there.warc.path(number))
        number += 1
    sync_folder(volume.warc)
    if here.journal.exists():
        with writing(there.journal):
            here.journal.rename(there.journal)
        sync_folder(volume.spool)


def staged_visits(collection: Path) -> list[Owner]:
    """Visits that were not moved because of a crash."""
    run = staging(collection)
    run.refuse_links()
    found = [read_owner(path) for path in sorted(run.spool.glob("*.journal"))]
    return [owner for owner in found if owner is not None]
