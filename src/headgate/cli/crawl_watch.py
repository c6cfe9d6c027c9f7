"""Watches a crawl: shows snapshots, and turns Ctrl-C into an orderly end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate.cli.speaking import say
from headgate.control.snapshots import Look, Snapshots
from headgate.views.plan_words import foreseen_end, plural, what_is_missed
from headgate.views.quota_words import quota_is_used_up
from headgate.views.report_words import why_missed

if TYPE_CHECKING:
    from headgate.cli.opening_words import OpeningWords
    from headgate.control.forecast import Forecast
    from headgate.jobs.managing.manager import Interruptible
    from headgate.model.plan import Plan
    from headgate.model.quota import QuotaUse
    from headgate.model.site import Site
    from headgate.views.progress_view import ProgressView

__all__ = ["CrawlWatch"]

INTERRUPTED = 130


class CrawlWatch:
    """The adapter of `headgate.jobs.crawl.Watcher` for a person at a terminal."""

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
        self._conducting: Interruptible | None = None
        self._interrupts = 0

    def opened(self) -> None:
        sites = self._sites
        what = sites[0].name if len(sites) == 1 else plural(len(sites), "site")
        self._opening.say(f"Planning for {what} …")

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
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

    def mended(self, remarks: Sequence[str]) -> None:
        """Repairs of the collection, one remark each."""
        for remark in remarks:
            say(remark)

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        """Also printed with --quiet: a crawl that pauses for weeks must say why."""
        words = quota_is_used_up(use)
        if too_late:
            words += f"; deadlines before that: {', '.join(too_late)}"
        say(words)

    def attach(self, conducting: Interruptible) -> None:
        self._opening.clear()
        self._conducting = conducting
        if self._interrupts:
            conducting.interrupt("interrupted")
        if self._view is not None:
            self._view.start()

    def look(self, look: Look) -> None:
        if self._view is None:
            return
        self._view.show(self._snapshots.of(look))

    def interrupt(self, loop: asyncio.AbstractEventLoop) -> None:
        """First time: save and end. Second time: end at once; what is stored stays stored."""
        self._interrupts += 1
        if self._interrupts > 1:
            self.close()
            os._exit(INTERRUPTED)
        if self._conducting is None:
            for task in asyncio.all_tasks(loop):
                task.cancel()
        else:
            self._conducting.interrupt("interrupted")

    def close(self) -> None:
        if self._view is not None:
            self._view.stop()
