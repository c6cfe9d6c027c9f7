"""Unfinished runs: how far one came, read without touching it, and giving one up.

What a run stored is in its journals; what it promised and its timeline are in the report that it
saves while it runs (`storage/run_state.py`), which may be some seconds older. A resumed run starts
from both: a site that it does not continue, since its deadline has passed, is reported as stored.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from headgate.control.catalog import Outcome
from headgate.control.run_report import deadline_met, left_by_stop
from headgate.crawling.progress import Landed
from headgate.frontier.journal import left_by
from headgate.jobs.opening import JobKind, kind_of
from headgate.jobs.visits import record_visits
from headgate.model.errors import UserMistake
from headgate.model.left_out import Reason
from headgate.model.run_report import RunReport, SiteReport
from headgate.storage.catalog.sqlite_catalog import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.recovery import recover_files
from headgate.storage.journals.site_journal import SiteJournal, site_journals
from headgate.storage.replacing import write_whole
from headgate.storage.run_state import load_elapsed, load_report

__all__ = ["abandon", "report_so_far"]


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
    landed, fetches, wire_bytes = Landed(), 0, 0
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


def abandon(out: Path, wall: float) -> tuple[RunFolder, RunReport | None]:
    """Give up the unfinished run of a collection: what is stored is sealed and kept. There is no
    report of a survey, nor of a run that saved none."""
    collection = Collection(out)
    _to_abandon(collection)  # before the lock, which is written into whatever folder it is
    with collection.lock():
        run = _to_abandon(collection)
        run.refuse_links()
        report = None if run.is_survey else report_so_far(run, under_way=False)
        if report is not None:
            sites = tuple(map(_given_up, report.sites))
            report = msgspec.structs.replace(report, sites=sites, interrupted=False, abandoned=True)
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
    from headgate.jobs.keeping.volume_recovery import recover_staged
    from headgate.jobs.report_pages import write_report_page
    from headgate.storage.sealing import seal

    if kind_of(run) is JobKind.KEEP:
        recover_staged([other for other in collection.runs() if other.unfinished])
    recover_files(run)  # what is damaged stays: a run can be given up all the same
    if report is not None or site_journals(run):
        seal(run)  # the tables of a survey are made with every leg
    with SqliteCatalog(collection.catalog) as catalog:
        if report is not None:
            write_whole(run.path / "report.json", msgspec.json.encode(report))
            write_report_page(report, run.path)
            record_visits(catalog, report, wall, {})
        catalog.end_run(run.stamp, wall, Outcome.ABANDONED)
