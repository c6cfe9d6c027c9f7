"""Runs a crawl with progress, interrupts and a report at the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headgate.cli.terminal import OpeningWords, on_interrupt, say, show, show_json
from headgate.control.snapshots import Moment, Snapshots
from headgate.engine.budget import is_unlimited
from headgate.engine.report_pages import PAGE
from headgate.engine.watcher import Watcher
from headgate.features.plan.view.words import what_is_missed
from headgate.model.run_report import RunReport
from headgate.report.phrases import foreseen_end, plural
from headgate.report.text import report_text
from headgate.report.words import quota_is_used_up, why_missed

if TYPE_CHECKING:
    from headgate.cli.live_view import ProgressView
    from headgate.control.forecast import Forecast
    from headgate.features.crawl.job import CrawlJob
    from headgate.features.grid.coordinator.coordinator import Interruptible
    from headgate.model.budget import QuotaUse
    from headgate.model.plan import Plan
    from headgate.model.site import Site

__all__ = ["CrawlWatch", "conclude", "crawl_watched", "progress_view"]

INTERRUPTED, NOT_ON_TIME, NOTHING_FETCHED = 130, 3, 4


async def crawl_watched(
    job: CrawlJob, *, quiet: bool, opening: OpeningWords | None = None
) -> RunReport:
    """Crawl and show progress. A manager, which shows the same, need not load a crawl."""
    from headgate.engine.real_parts import real_parts
    from headgate.features.crawl.job import crawl

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
    from headgate.cli.live_view import ProgressView

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


_INTERRUPTED_TEXT = 130


class CrawlWatch(Watcher["Interruptible", Moment]):
    """Watches a crawl: shows snapshots, and turns Ctrl-C into an orderly end.

    For a person at a terminal.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        *,
        limited: bool,
        view: ProgressView | None,
        opening: OpeningWords,
    ) -> None:
        self._sites = sites
        self._limited = limited
        self._opening = opening
        self._view = view
        self._snapshots = Snapshots(why_missed)
        self._control_loop: Interruptible | None = None
        self._interrupts = 0

    def on_open(self) -> None:
        sites = self._sites
        what = sites[0].name if len(sites) == 1 else plural(len(sites), "site")
        self._opening.say(f"Planning for {what} …")

    def on_plan(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        self._opening.clear()
        if self._view is None:
            return
        self._snapshots.planned(forecasts)
        if plan is None:
            if not self._limited:
                say("no bandwidth limits this crawl; --bandwidth 1MB/s would")
            return
        if plan.foreseen is not None:
            why = " (sizes and speeds of its servers are not well known)"
            say(
                f"foreseen end: after {foreseen_end(plan.foreseen)}"
                f"{why if plan.foreseen.vague else ''}"
            )
        if not plan.feasible:
            missed = what_is_missed(plan)
            say(f"{missed}, by guessed sizes" if plan.guessed else missed)

    def on_messages(self, words: Sequence[str]) -> None:
        for word in words:
            say(word)

    def on_pause(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        """Also printed with --quiet: a crawl that pauses for weeks must say why."""
        words = quota_is_used_up(use)
        if too_late:
            words += f"; deadlines before that: {', '.join(too_late)}"
        say(words)

    def on_start(self, running: Interruptible) -> None:
        self._opening.clear()
        self._control_loop = running
        if self._interrupts:
            running.interrupt("interrupted")
        if self._view is not None:
            self._view.start()

    def on_progress(self, seen: Moment) -> None:
        if self._view is None:
            return
        self._view.show(self._snapshots.take(seen))

    def interrupt(self, loop: asyncio.AbstractEventLoop) -> None:
        """First time: save and end. Second time: end at once; what is stored stays stored."""
        self._interrupts += 1
        if self._interrupts > 1:
            self.close()
            os._exit(_INTERRUPTED_TEXT)
        if self._control_loop is None:
            for task in asyncio.all_tasks(loop):
                task.cancel()
        else:
            self._control_loop.interrupt("interrupted")

    def close(self) -> None:
        if self._view is not None:
            self._view.stop()
