"""Runs a crawl with progress, interrupts and a report at the end."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headgate.cli.crawl_watch import CrawlWatch
from headgate.cli.interrupts import on_interrupt
from headgate.cli.opening_words import OpeningWords
from headgate.cli.speaking import show, show_json
from headgate.jobs.budget_keeping import is_unlimited
from headgate.jobs.report_pages import PAGE
from headgate.model.run_report import RunReport
from headgate.views.report_text import report_text

if TYPE_CHECKING:
    from headgate.jobs.crawl import CrawlJob
    from headgate.views.progress_view import ProgressView

__all__ = ["conclude", "crawl_watched", "progress_view"]

INTERRUPTED, NOT_ON_TIME, NOTHING_FETCHED = 130, 3, 4


async def crawl_watched(
    job: CrawlJob, *, quiet: bool, opening: OpeningWords | None = None
) -> RunReport:
    """Crawl and show progress. A manager, which shows the same, need not load a crawl."""
    from headgate.jobs.crawl import crawl
    from headgate.jobs.real_parts import real_parts

    words = opening or OpeningWords(quiet=quiet)
    watch = CrawlWatch(
        job.sites,
        limited=not is_unlimited(job.budget),
        view=None if quiet else progress_view(),
        opening=words,
    )
    loop = asyncio.get_running_loop()
    on_interrupt(loop, partial(watch.interrupt, loop))
    try:
        return await crawl(job, real_parts(), watch)
    except asyncio.CancelledError:  # interrupted before the first fetch: nothing to save
        raise KeyboardInterrupt from None
    finally:
        watch.close()


def progress_view() -> ProgressView:
    """Imported late: Rich takes a twentieth of a second."""
    from headgate.cli.consoles import progress_console
    from headgate.views.progress_view import ProgressView

    return ProgressView(progress_console())


def conclude(report: RunReport, out: Path, *, as_json: bool, strict: bool = False) -> int:
    """Print the report as text or JSON; returns the exit code."""
    if as_json:
        show_json(msgspec.json.encode(report))
    else:
        show(report_text(report, str(out / "runs" / report.stamp / PAGE)))
    if report.interrupted:
        return INTERRUPTED
    if report.nothing_fetched and not report.abandoned:
        return NOTHING_FETCHED
    missed = any(site.met is False for site in report.sites)
    return NOT_ON_TIME if strict and missed else 0
