"""Runs that are not finished: how far one came, read without touching it, and giving one up.

What a run stored is in its journals; what it promised, and when what came, in the report that it
saves while it goes on (`storage/run_state.py`), which may be some seconds older. A resumed run goes
on from both: a site that it never takes up again, for its deadline has passed, is told as stored.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from headgate.control.catalog import Outcome
from headgate.control.run_report import deadline_met, left_by_stop
from headgate.crawling.progress import Landed
from headgate.frontier.journal import left_by
from headgate.jobs.visits import record_visits
from headgate.model.errors import UserMistake
from headgate.model.left_out import Reason
from headgate.model.run_report import RunReport, SiteReport
from headgate.storage.catalog.sqlite_catalog import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.site_journal import SiteJournal, site_journals
from headgate.storage.replacing import write_whole
from headgate.storage.run_state import load_elapsed, load_report

__all__ = ["abandon", "report_so_far"]


def report_so_far(run: RunFolder, *, under_way: bool) -> RunReport | None:
    """With everything that is stored; None: it ended before it had begun.

    What is told of a site that is done was all stored before: its journal need not be read."""
    saved = load_report(run)
    if saved is None:
        return None
    now = max(saved.seconds, load_elapsed(run))
    stored = site_journals(run)
    sites = tuple(
        site
        if site.state == "done"
        else _with_stored(site, stored.get(Owner(site.name)), now, under_way=under_way)
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
    """URLs let in and then not asked for; no journal has them, for they are judged anew."""
    found = (site.left_out.get(why) for why in (Reason.ROBOTS, Reason.HOST_GIVEN_UP))
    return sum(left.count for left in found if left is not None)


def abandon(out: Path) -> tuple[RunFolder, RunReport | None]:
    """Give up the unfinished run of a collection: what is stored is sealed and kept. The report is
    None where there is none to make: of a survey, and of a run that left none so far."""
    collection = Collection(out)
    if not out.is_dir():
        raise UserMistake(f"{out}: no unfinished run to abandon")
    with collection.lock():
        run = collection.unfinished_run()
        if run is None:
            raise UserMistake(f"{out}: no unfinished run to abandon")
        run.refuse_links()
        report = None if run.is_survey else report_so_far(run, under_way=False)
        if report is not None:
            sites = tuple(map(_given_up, report.sites))
            report = msgspec.structs.replace(report, sites=sites, interrupted=False, abandoned=True)
        _keep(collection, run, report)
        run.finish()
    return run, report


def _given_up(site: SiteReport) -> SiteReport:
    """A deadline that was still open is open no more."""
    if site.deadline is None or site.met is not None:
        return site
    return msgspec.structs.replace(site, met=False)


def _keep(collection: Collection, run: RunFolder, report: RunReport | None) -> None:
    from headgate.jobs.report_pages import write_report_page
    from headgate.storage.sealing import seal

    if report is not None or site_journals(run):
        seal(run)  # the tables of a survey are made with every leg
    with SqliteCatalog(collection.catalog) as catalog:
        wall = time.time()
        if report is not None:
            write_whole(run.path / "report.json", msgspec.json.encode(report))
            write_report_page(report, run.path)
            record_visits(catalog, report, wall, {})
        catalog.end_run(run.stamp, wall, Outcome.ABANDONED)
