"""Merges a run into the memory of its sites, and rebuilds a memory that was lost.

A site is merged from its journal when it is done, or when the run is sealed, at its end or at an
interrupt; merging is idempotent. A memory that is lost or damaged is rebuilt from the tables of
finished runs and the journals of an unfinished one. URLs that were never requested are not in the
tables: the links of the pages bring them back, which count as unknown after a rebuild.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path

from headgate.frontier.events import NEEDED
from headgate.model.page import Role
from headgate.storage.collection import Collection, RunFolder, began
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.journals.run_journals import site_journals
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.merging import Files, merge
from headgate.storage.memory.page import PageLook, Sighting
from headgate.storage.memory.site import SiteMemory
from headgate.storage.page import PageRow

__all__ = ["mend", "mend_memories", "remember", "sightings"]


_MISSING = "was missing"


def remember(run: RunFolder, owner: Owner, commits: Iterable[Commit]) -> bool:
    """Merge what a run found into the memory of a site; False: it must be repaired first.

    Does not wait for the disk. If the machine fails before the data is durable, the memory may be
    damaged, and is rebuilt. A visit of a keeper that was merged before is skipped."""
    site, visit = owner
    path = Collection(run.collection).memory(site)
    try:
        with SiteMemory.checked(path, site) as old:
            if not visit or visit > old.summary.visit:
                met = partial(sightings, run, commits)
                merge(path, old, run.stamp, met, soon=True, visit=visit)
    except DamagedMemory:
        return False
    return True


def mend(collection: Collection, site: str) -> list[str]:
    """Rebuild a site's memory; returns a remark, unless no run had a page of the site."""
    path = collection.memory(site)
    lost = _what_is_wrong(path, site)
    runs = list(reversed(collection.runs()))
    with SiteMemory(path.with_name("nothing"), site) as nothing:
        made = merge(path, nothing, runs[-1].stamp if runs else "", partial(_all_met, runs, site))
    if lost == _MISSING and not made.pages + made.gone:
        path.unlink()
        return []
    before = f"{lost} ({path.name});" if lost else f"({path.name}) was"
    return [f"what is known of {site} {before} made again from its runs: {made.pages:,} pages"]


def _what_is_wrong(path: Path, site: str) -> str:
    """What is wrong with a memory, in words; empty: nothing."""
    if not path.exists():
        return _MISSING
    try:
        SiteMemory.checked(path, site).close()
    except DamagedMemory:
        return "was damaged"
    return ""


def mend_memories(
    collection: Collection, sites: Iterable[str], visited: Callable[[str], bool]
) -> list[str]:
    """Check the memories of sites before a crawl, and repair those that need it.

    ``visited`` says whether an earlier run visited a site, so that it must have a memory."""
    remarks: list[str] = []
    for site in sites:
        path = collection.memory(site)
        try:
            SiteMemory.checked(path, site).close()
            lost = not path.exists() and visited(site)
        except DamagedMemory:
            lost = True
        if lost:
            remarks += mend(collection, site)
    return remarks


def sightings(run: RunFolder, commits: Iterable[Commit], files: Files) -> Iterator[Sighting]:
    """What a site run found, in order."""
    start = began(run)
    shelf = run.shelf
    for group, rows, _ in commits:
        digests = {entry.url: entry.digest for entry in group.entries if entry.digest}
        for entry in group.entries:
            needed = entry.detail == NEEDED
            for url in entry.found:
                yield Sighting(url, entry.depth, start, needed=needed)
            for url, modified in entry.modified:
                yield Sighting(url, 0, start, modified=modified)
        for row in rows:
            if row.role == Role.PAGE:
                look = _look(row, digests.get(row.url, b""), shelf, files, start)
                yield Sighting(row.url, row.depth, start, look, row.visit)


def _all_met(runs: Sequence[RunFolder], site: str, files: Files) -> Iterator[Sighting]:
    """The same for many runs, oldest first, with one open file at a time."""
    for run in runs:
        if run.unfinished:
            for owner, journal in site_journals(run).items():
                if owner.site == site:
                    yield from sightings(run, journal.commits(links=False), files)
        elif (table := run.path / "pages.parquet").exists():
            from headgate.storage.tables.arrow_tables import read_pages_of  # here: it brings 50 MB

            start = began(run)
            for row in read_pages_of(table, site):
                if row.role == Role.PAGE:
                    look = _look(row, b"", run.shelf, files, start)
                    yield Sighting(row.url, row.depth, start, look, row.visit)


def _look(row: PageRow, content: bytes, shelf: str, files: Files, began: float) -> PageLook:
    held = row.status == HTTPStatus.OK or (
        row.status == HTTPStatus.NOT_MODIFIED and bool(row.original_url)
    )
    held = held and bool(row.digest) and not row.truncated
    elsewhere = bool(row.original_url)
    file = row.original_file if elsewhere else f"{shelf}/{row.warc_file}"
    return PageLook(
        at=row.fetched_at or began,
        status=row.status,
        error=row.error,
        size_bytes=row.wire_bytes,
        etag=row.etag if held else "",
        last_modified=row.last_modified if held else "",
        digest=row.digest if held else b"",
        content=content,
        original_url=row.original_url,
        original_at=row.original_at or row.fetched_at,
        file=files.number(file) if held else 0,
        offset=row.original_offset if elsewhere else row.warc_offset,
        link_rules=row.link_rules,
    )
