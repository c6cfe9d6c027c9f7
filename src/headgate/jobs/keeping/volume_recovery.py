"""Recovers a volume whose keeper died: files are cut to what was committed, and visits that were
running end with what they had stored: it is remembered, and its changes and links are passed on, as
at their own end. Their other pages are still due, so nothing has to be resumed.

Idempotent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headgate.control.catalog import Catalog, Visit
from headgate.crawling.progress import Landed
from headgate.jobs.keeping.visit_remembering import tell_others
from headgate.model.errors import WorldFault
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.recovery import recover_files
from headgate.storage.journals.site_journal import SiteJournal, site_journals
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.remembering import mend
from headgate.storage.memory.site_memory import SiteMemory
from headgate.storage.memory.summary import VisitCounts
from headgate.storage.memory.visit_memory import remember_visit
from headgate.storage.staged_visits import move_visit, staged_visits

__all__ = ["recover_staged", "recover_volume", "remember_all", "remember_one"]

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
    landed, wire_bytes, moments = Landed(), 0, []
    for rows in journal.pages():
        for row in rows:
            landed.count(
                row.role, row.status, row.error, row.payload_bytes, unchanged=row.unchanged
            )
            wire_bytes += row.wire_bytes
            moments.append(row.fetched_at)
    started, finished = min(moments, default=0.0), max(moments, default=0.0)
    return Visit(
        owner.site, run.stamp, started, finished, finished - started, landed.pages,
        landed.payload_bytes, wire_bytes, None, complete=False, errors=dict(landed.errors),
        visit=owner.visit, asked=counts.asked, changed=counts.changed, same=counts.same,
        new=counts.new, gone=counts.gone, saved_bytes=counts.saved_bytes,
    )  # fmt: skip
