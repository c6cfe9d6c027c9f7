"""Looking on while a crawl runs: reports become snapshots, Ctrl-C an orderly end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate.cli.plan_words import foreseen_end
from headgate.control.forecast import remaining_bytes
from headgate.model.snapshot import SiteSnapshot, Snapshot

if TYPE_CHECKING:
    from headgate.cli.progress_view import ProgressView
    from headgate.control.conducting import Conducting
    from headgate.control.forecast import Forecast
    from headgate.crawling.progress import Progress
    from headgate.grid.crawl import CrawlJob
    from headgate.model.plan import Plan
    from headgate.model.quota import QuotaUse
    from headgate.model.site import Site

__all__ = ["CrawlWatch"]

INTERRUPTED = 130


class CrawlWatch:
    """The adapter of `headgate.grid.crawl.Watcher` for a person at a terminal."""

    def __init__(self, job: CrawlJob, *, view: ProgressView | None) -> None:
        self._job = job
        self._view = view
        self._forecasts: Mapping[str, Forecast] = {}
        self._ended: dict[str, float] = {}
        self._conducting: Conducting | None = None
        self._interrupts = 0

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        self._forecasts = forecasts
        if self._view is None:
            return
        if plan is None:
            sys.stderr.write("headgate: no bandwidth limits this crawl; --bandwidth 1MB/s would\n")
            return
        if plan.foreseen is not None:
            why = " (sizes and speeds of its servers are not well known)"
            sys.stderr.write(
                f"headgate: foreseen end: after {foreseen_end(plan.foreseen)}"
                f"{why if plan.foreseen.vague else ''}\n"
            )
        if not plan.feasible:
            late = len(plan.late_sites)
            sys.stderr.write(
                f"headgate: the plan misses {late} of {len(plan.sites)} deadlines;"
                " it will be as little late as it can\n"
            )

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        """Also said when nobody watches: a crawl that stands still for weeks must say why."""
        until = use.resets.astimezone(use.quota.zone)
        words = (
            f"headgate: the quota of {use.quota} is used up;"
            f" going on at {until:%Y-%m-%d %H:%M} {use.quota.zone}"
        )
        if too_late:
            words += f"; deadlines before that: {', '.join(too_late)}"
        sys.stderr.write(f"{words}\n")

    def attach(self, conducting: Conducting) -> None:
        self._conducting = conducting
        if self._interrupts:
            conducting.interrupt("interrupted")
        if self._view is not None:
            self._view.start()

    def look(
        self,
        now: float,
        reports: Sequence[Progress],
        granted: Mapping[str, float],
        measured: Mapping[str, float],
        budget: float | None,
        *,
        making_way: bool,
    ) -> None:
        if self._view is None:
            return
        by_name = {report.site: report for report in reports}
        sites = tuple(
            self._site(site, by_name.get(site.name), now, granted, measured)
            for site in self._job.sites
        )
        self._view.show(Snapshot(now, budget, sites, making_way))

    def interrupt(self, loop: asyncio.AbstractEventLoop) -> None:
        """The first time: save and end. The second time: end at once; what is stored is stored."""
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

    def _site(
        self,
        site: Site,
        report: Progress | None,
        now: float,
        granted: Mapping[str, float],
        measured: Mapping[str, float],
    ) -> SiteSnapshot:
        forecast = self._forecasts.get(site.name)
        expected = forecast.bytes if forecast and forecast.bytes > 1 else None
        rate = measured.get(site.name, 0.0)
        share = granted.get(site.name)
        if report is None:
            return SiteSnapshot(
                site.name, "waiting", 0, 0, 0, 0.0, None, expected, site.deadline, None, 0
            )
        if report.state.value in ("done", "stopped"):
            self._ended.setdefault(site.name, now)
        left = remaining_bytes(
            expected or 0.0, report.wire_bytes, report.to_do, report.mean_wire_bytes
        )
        running = now + left / rate if rate > 0 else None
        return SiteSnapshot(
            site.name,
            report.state.value,
            report.pages,
            report.to_do,
            report.wire_bytes,
            rate,
            share if share is not None and share < float("inf") else None,
            expected,
            site.deadline,
            self._ended.get(site.name, running),
            sum(report.errors.values()),
            report.focus.relevant if report.focus and report.focus.curve else None,
        )
