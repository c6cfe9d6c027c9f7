"""The end of a crawl: index, tables, memories, catalog and report are made of what was stored.

Idempotent, so that it can be repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from headgate.control.catalog import Catalog, Outcome, Visit
from headgate.crawling.progress import Progress
from headgate.engine.budget import BudgetKeeper
from headgate.model.run_report import PROCESS_DIED, RunReport, SiteReport
from headgate.storage.atomic_write import write_whole
from headgate.storage.collection import RunFolder

if TYPE_CHECKING:
    from headgate.storage.sealing import Complete

__all__ = ["Finished", "record_visits", "reported_visit", "wrap_up"]

_UNFINISHED = ("waiting", "crawling")


class Finished(msgspec.Struct, frozen=True):
    """The outcome of the last leg."""

    report: RunReport
    progress: Mapping[str, Progress]
    """Of the sites that this leg began."""
    alpha: Callable[[str], float | None]

    def visits(self, wall: float) -> dict[str, Visit]:
        return {
            site.name: self._visit(site, wall)
            for site in self.report.sites
            if site.name in self.progress
        }

    def _visit(self, site: SiteReport, wall: float) -> Visit:
        return structs.replace(
            reported_visit(self.report, site, wall),
            wire_bytes=self.progress[site.name].wire_bytes,
            alpha=self.alpha(site.name),
        )


def wrap_up(
    run: RunFolder,
    catalog: Catalog,
    finished: Finished,
    wall: float,
    keeping: BudgetKeeper,
    complete: Complete | None = None,
    tables_written: Callable[[], bool] | None = None,
) -> list[str]:
    """Returns what had to be repaired, a sentence each.

    ``complete`` adds what journals lack. ``tables_written`` waits for the process that writes the
    tables meanwhile, and says whether it did."""
    from headgate.engine.report_pages import write_report_page
    from headgate.storage.sealing import seal  # here: it brings 50 MB

    report = finished.report
    record_visits(catalog, report, wall, finished.visits(wall))
    done = {name for name, progress in finished.progress.items() if progress.remembered}
    remarks = seal(run, done, complete, tables_written)
    keeping.save_use()
    write_whole(run.path / "report.json", msgspec.json.encode(report))
    write_report_page(report, run.path)
    if report.interrupted or any(map(_is_unfinished, report.sites)):
        catalog.end_run(run.stamp, wall, Outcome.INTERRUPTED)
    else:
        run.finish()
        catalog.end_run(run.stamp, wall, Outcome.FINISHED)
    return remarks


def _is_unfinished(site: SiteReport) -> bool:
    """Of sites whose process died, a resumed run may find which one it was that killed it."""
    return site.state in _UNFINISHED or site.reason == PROCESS_DIED


# Records a run's visits of its sites in the catalog.


def record_visits(
    catalog: Catalog, report: RunReport, wall: float, fresh: Mapping[str, Visit]
) -> None:
    """Record each site that was begun: the ``fresh`` visits, and those of earlier legs that were
    not recorded then."""
    catalog.record_visits(
        fresh[site.name] if site.name in fresh else reported_visit(report, site, wall)
        for site in report.sites
        if site.name in fresh or (site.fetches and not _recorded(catalog, site.name, report.stamp))
    )


def _recorded(catalog: Catalog, site: str, run: str) -> bool:
    return any(visit.run == run for visit in catalog.history(site, 1))


def reported_visit(report: RunReport, site: SiteReport, wall: float) -> Visit:
    began = site.started or 0.0
    ended = report.seconds if site.finished is None else site.finished
    return Visit(
        site=site.name,
        run=report.stamp,
        started=report.started_at + began,
        finished=min(report.started_at + ended, wall),
        seconds=max(ended - began, 0.0),
        pages=site.pages,
        payload_bytes=site.bytes,
        wire_bytes=site.wire_bytes,
        complete=site.state == "done" and not site.given_up,
        errors=site.errors,
    )
