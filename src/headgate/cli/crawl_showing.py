"""A crawl with somebody looking on: progress, interrupts, and a report at the end."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import msgspec

from headgate.cli.crawl_watch import CrawlWatch
from headgate.cli.progress_view import ProgressView
from headgate.cli.report_page import report_page
from headgate.cli.report_text import report_text
from headgate.grid.crawl import CrawlJob, crawl
from headgate.model.run_report import RunReport
from headgate.storage.replacing import write_whole

__all__ = ["conclude", "crawl_watched"]

INTERRUPTED, NOT_ON_TIME = 130, 3


async def crawl_watched(job: CrawlJob, *, quiet: bool) -> RunReport:
    """Crawl and show how it goes."""
    watch = CrawlWatch(job, view=None if quiet else ProgressView())
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, watch.interrupt, loop)
    try:
        return await crawl(job, watch)
    except asyncio.CancelledError:  # interrupted before the first fetch: nothing to save
        raise KeyboardInterrupt from None
    finally:
        watch.close()


def conclude(report: RunReport, out: Path, *, as_json: bool, strict: bool = False) -> int:
    """Write the report page, print the report's words or its JSON; the exit code."""
    page = out / "runs" / report.stamp / "report.html"
    write_whole(page, report_page(report).encode())
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    else:
        print(report_text(report, page))
    if report.interrupted:
        return INTERRUPTED
    missed = any(site.met is False for site in report.sites)
    return NOT_ON_TIME if strict and missed else 0
