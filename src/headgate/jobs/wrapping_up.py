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
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.visits import record_visits, visit_of
from headgate.model.run_report import PROCESS_DIED, RunReport, SiteReport
from headgate.storage.collection import RunFolder
from headgate.storage.replacing import write_whole

if TYPE_CHECKING:
    from headgate.storage.sealing import Complete

__all__ = ["Finished", "wrap_up"]

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
            visit_of(self.report, site, wall),
            wire_bytes=self.progress[site.name].wire_bytes,
            alpha=self.alpha(site.name),
        )


def wrap_up(
    run: RunFolder,
    catalog: Catalog,
    finished: Finished,
    wall: float,
    keeping: BudgetKeeping,
    complete: Complete | None = None,
    tables_written: Callable[[], bool] | None = None,
) -> list[str]:
    """Returns what had to be repaired, a sentence each.

    ``complete`` adds what journals lack. ``tables_written`` waits for the process that writes the
    tables meanwhile, and says whether it did."""
    from headgate.jobs.report_pages import write_report_page
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
