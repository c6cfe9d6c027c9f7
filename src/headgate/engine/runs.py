"""The run that a job fills: a new one, or an unfinished one, which can also be given up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from headgate.control.catalog import Outcome
from headgate.control.run_report import deadline_met, left_by_stop
from headgate.crawling.progress import FetchCounts
from headgate.engine.begun_here import mark_as_begun_here
from headgate.engine.wrapping_up import record_visits
from headgate.frontier.events import left_by
from headgate.model.errors import UserMistake
from headgate.model.run_report import Reason, RunReport, SiteReport
from headgate.storage.atomic_write import write_whole
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.run_journals import SiteJournal, recover_files, site_journals
from headgate.storage.run_state import load_elapsed, load_report

__all__ = [
    "JobKind",
    "abandon",
    "giving_up",
    "going_on",
    "kind_of",
    "open_run",
    "refuse_unfinished",
    "report_so_far",
]


class JobKind(StrEnum):
    """The run that a job fills: a new one, or the unfinished one of its collection.

    A collection has at most one unfinished run, of any kind of job; it has to be resumed or given
    up before another can start. The request is kept with the run.

    By the name of its command.
    """

    CRAWL = "crawl"
    SURVEY = "survey"
    KEEP = "keep"
    MANAGER = "manager"
    SCRAPY = "scrapy"

    @property
    def state(self) -> str:
        """The name under which the request is kept."""
        return "request" if self is JobKind.CRAWL else self.value


_RESUMED_BY_NAME = (JobKind.CRAWL, JobKind.SURVEY)
"""Of other kinds the user says again, at each start, what is asked."""


def kind_of(run: RunFolder) -> JobKind | None:
    """The kind of an unfinished run; None: it was killed before its request was saved."""
    return next((kind for kind in JobKind if run.load(kind.state) is not None), None)


def refuse_unfinished(collection: Collection, kind: JobKind) -> None:
    """Raise `UserMistake` if a job of another kind has to be finished first."""
    unfinished = collection.unfinished_run()
    found = None if unfinished is None else kind_of(unfinished)
    if unfinished is None or found in (None, kind):
        return
    if found is JobKind.KEEP:
        raise UserMistake(
            f"{collection.path} is kept by 'headgate keep', which was not ended in order; start it"
            f" again, give its last volume up with {giving_up(unfinished)}, or name another"
            " folder with --out"
        )
    raise UserMistake(
        f"{collection.path} has an unfinished {found} ({unfinished.stamp}); finish it with"
        f" {going_on(unfinished)}, give it up with {giving_up(unfinished)}, or name another folder"
        " with --out"
    )


def going_on(run: RunFolder) -> str:
    """What continues an unfinished run, as words for its user."""
    match kind_of(run):
        case JobKind.SCRAPY:
            return "the spider, run again"
        case JobKind.MANAGER | JobKind.KEEP as kind:
            return f"'headgate {kind}', started again"
        case JobKind.CRAWL if run.load(JobKind.CRAWL.state) == b"":
            return "the Python program, with resume=True"
        case kind:
            return f"'headgate {kind or JobKind.CRAWL} --resume --out {run.collection}'"


def giving_up(run: RunFolder) -> str:
    """The command that abandons an unfinished run."""
    return f"'headgate crawl --abandon --out {run.collection}'"


def open_run(
    collection: Collection, kind: JobKind, request: bytes, started: datetime, *, resume: bool
) -> RunFolder:
    """The caller holds the collection's lock. A manager always continues its own run."""
    refuse_unfinished(collection, kind)
    unfinished = collection.unfinished_run()
    found = None if unfinished is None else kind_of(unfinished)
    if resume:
        if unfinished is None:
            raise UserMistake(f"{collection.path} has no unfinished {kind}; leave out --resume")
        unfinished.refuse_links()
        return unfinished
    if unfinished is not None and found is JobKind.MANAGER:
        unfinished.refuse_links()
        return unfinished
    if unfinished is not None and found is not None:
        raise UserMistake(
            f"{collection.path} has an unfinished {kind} ({unfinished.stamp}); go on with --resume,"
            f" give it up with {giving_up(unfinished)}, or name another folder with --out"
        )
    run = unfinished or collection.new_run(started)
    if request and kind in _RESUMED_BY_NAME:
        mark_as_begun_here(run, kind.state, request)
    run.save(kind.state, request)
    return run


# Unfinished runs: how far one came, read without touching it, and giving one up.
#
# What a run stored is in its journals; what it promised and its timeline are in the report that it
# saves while it runs (`storage/run_state.py`), which may be some seconds older. A resumed run
# starts from both: a site that it does not continue, since its deadline has passed, is reported as
# stored.


def report_so_far(run: RunFolder, *, under_way: bool) -> RunReport | None:
    """The saved report, brought up to date with the journals; None: nothing was saved.

    A site that is done is in the saved report already, so its journal is not read."""
    saved = load_report(run)
    if saved is None:
        return None
    now = max(saved.seconds, load_elapsed(run))
    stored: dict[str, SiteJournal] = {}
    for owner, journal in site_journals(run).items():  # a site that nodes share has several
        stored.setdefault(owner.site, SiteJournal()).pieces += journal.pieces
    sites = tuple(
        site
        if site.state == "done"
        else _with_stored(site, stored.get(site.name), now, under_way=under_way)
        for site in saved.sites
    )
    return msgspec.structs.replace(
        saved,
        seconds=now,
        sites=sites,
        pages=sum(site.pages for site in sites),
        unchanged=sum(site.unchanged for site in sites),
        bytes=sum(site.bytes for site in sites),
        wire_bytes=sum(site.wire_bytes for site in sites),
        under_way=under_way,
        interrupted=not under_way,
    )


def _with_stored(
    site: SiteReport, journal: SiteJournal | None, now: float, *, under_way: bool
) -> SiteReport:
    journal = journal or SiteJournal()
    landed, fetches, wire_bytes = FetchCounts(), 0, 0
    for rows in journal.pages():
        for row in rows:
            landed.count(
                row.role, row.status, row.error, row.payload_bytes, unchanged=row.unchanged
            )
            fetches += 1
            wire_bytes += row.wire_bytes
    left_out = {why: left for why, left in site.left_out.items() if why != site.reason}
    state, reason = site.state, site.reason
    if state in ("waiting", "crawling") and fetches:
        state, reason = ("crawling", "") if under_way else ("stopped", "interrupted")
    site = msgspec.structs.replace(
        site,
        state=state,
        reason=reason,
        pages=landed.pages,
        unchanged=landed.unchanged,
        fetches=fetches,
        bytes=landed.payload_bytes,
        errors=dict(landed.errors),
        wire_bytes=max(site.wire_bytes, wire_bytes),
        to_do=max(left_by(journal.entries()) - _dropped(site), 0),
    )
    if state == "stopped":
        left_out |= left_by_stop(reason, site.to_do)
    return msgspec.structs.replace(site, met=deadline_met(site, now), left_out=left_out)


def _dropped(site: SiteReport) -> int:
    """URLs accepted and then dropped; not in journals, since a resumed run decides again."""
    found = (site.left_out.get(why) for why in (Reason.ROBOTS, Reason.HOST_GIVEN_UP))
    return sum(left.count for left in found if left is not None)


def abandon(
    out: Path, wall: float, recover: Callable[[list[RunFolder]], object]
) -> tuple[RunFolder, RunReport | None]:
    """Give up the unfinished run of a collection: what is stored is sealed and kept. There is no
    report of a survey, nor of a run that saved none. ``recover``: what else a keeper left."""
    collection = Collection(out)
    _to_abandon(collection)  # before the lock, which is written into whatever folder it is
    with collection.lock():
        run = _to_abandon(collection)
        run.refuse_links()
        report = None if run.is_survey else report_so_far(run, under_way=False)
        if report is not None:
            sites = tuple(map(_given_up, report.sites))
            report = msgspec.structs.replace(report, sites=sites, interrupted=False, abandoned=True)
        if kind_of(run) is JobKind.KEEP:
            recover([other for other in collection.runs() if other.unfinished])
        _keep(collection, run, report, wall)
        run.finish()
    return run, report


def _to_abandon(collection: Collection) -> RunFolder:
    run = collection.unfinished_run()
    if run is None:
        raise UserMistake(f"{collection.path}: no unfinished run to abandon")
    return run


def _given_up(site: SiteReport) -> SiteReport:
    """With an open deadline counted as missed."""
    if site.deadline is None or site.met is not None:
        return site
    return msgspec.structs.replace(site, met=False)


def _keep(collection: Collection, run: RunFolder, report: RunReport | None, wall: float) -> None:
    from headgate.engine.report_pages import write_report_page
    from headgate.storage.sealing import seal

    recover_files(run)  # what is damaged stays: a run can be given up all the same
    if report is not None or site_journals(run):
        seal(run)  # the tables of a survey are made with every leg
    with SqliteCatalog(collection.catalog) as catalog:
        if report is not None:
            write_whole(run.path / "report.json", msgspec.json.encode(report))
            write_report_page(report, run.path)
            record_visits(catalog, report, wall, {})
        catalog.end_run(run.stamp, wall, Outcome.ABANDONED)
