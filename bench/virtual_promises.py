"""The trials of `bench.promises` in virtual time: why was a deadline missed? In seconds of CPU.

    python -m bench.virtual_promises [--runs 5] [--seed 1] [--only NAME ...]

The same sites, servers and deadlines, crawled by the very job that `headgate crawl` runs, on a
simulated web. What a machine adds is not in it: starting up, packets, a processor that is busy. So
a deadline missed here is missed by a decision, and the same decision is taken each time. What is
kept in earnest, `bench.promises` says. The timetable's row goes by the clock on the wall and is
not here.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench.promised_web import answer_of
from bench.promises import RTT_SECONDS, SCENARIOS, Trial, hindsight

from headgate.control.control_loop import ControlLoop
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.scheduling.arrays import FloatArray
from headgate.site_file.parsing import parse_site_file
from headgate.testing.simulated_web import Answer, Line, ServerPace
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

__all__ = ["crawl_virtually", "lateness"]

BEGIN = 1_794_751_200.0
"""2026-11-15 14:00 UTC."""
PAUSE_SECONDS = 20.0
VIRTUAL = [name for name in SCENARIOS if name != "timetable"]


class Interference(CrawlWatcher):
    """Who changes the budget or breaks off, as the trial has it."""

    def __init__(self, trial: Trial, *, resumed: bool) -> None:
        self._trial = trial
        self._resumed = resumed

    def on_start(self, control_loop: ControlLoop) -> None:
        loop = asyncio.get_running_loop()
        if self._trial.changes:
            control_loop.set_budget(self._trial.capacity)
        if self._trial.interrupt_at is not None and not self._resumed:
            loop.call_later(self._trial.interrupt_at, control_loop.interrupt, "interrupted")


def crawl_virtually(trial: Trial) -> RunReport:
    """The report; of both legs, where the trial interrupts the first."""
    with tempfile.TemporaryDirectory() as folder:
        if trial.before:
            _leg(replace(trial, served=trial.before), Path(folder), resume=False)
        report = _leg(trial, Path(folder), resume=False)
        if trial.interrupt_at is not None:
            report = _leg(trial, Path(folder), resume=True)
    return report


def lateness(trial: Trial, report: RunReport) -> FloatArray:
    """Seconds after each deadline; 0 for sites that stop at theirs."""
    ends = {site.name: site.finished or np.inf for site in report.sites}
    late = np.maximum(np.array([ends[name] for name in trial.names]) - trial.deadlines, 0.0)
    late[trial.stops] = 0.0
    return late


def _leg(trial: Trial, out: Path, *, resume: bool) -> RunReport:
    asked = parse_site_file(trial.site_file(), "sites.toml")
    served = {site.address: (site, ServerPace(site.speeds)) for site in trial.served}

    def answering(request: FetchRequest, at: float) -> Answer:  # noqa: ARG001 - nothing changes
        address, _, path = request.url.removeprefix("http://").partition("/")
        site, pace = served[address]
        status, body, media_type = answer_of(site, f"/{path}")
        headers = (("Content-Type", media_type), ("Content-Length", str(len(body))))
        return Answer(
            int(status[:3]), headers, body, first_byte_seconds=RTT_SECONDS, pace=pace,
            address=address,
        )  # fmt: skip

    async def run(loop: VirtualLoop) -> RunReport:
        clock = VirtualClock(loop, BEGIN + PAUSE_SECONDS * resume)
        settings = fetcher_settings(asked.sites, "bench")
        job = CrawlJob(asked.sites, asked.budget, out, settings, resume=resume)
        parts = virtual_parts(clock, answering, Line())
        return await crawl(job, parts, Interference(trial, resumed=resume))

    return run_virtually(run)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=VIRTUAL, default=VIRTUAL)
    args = parser.parse_args()
    for name in args.only:
        met = deadlines = 0
        total = least = worst = 0.0
        for run in range(args.runs):
            trial = SCENARIOS[name](np.random.default_rng([args.seed, run]))
            report = crawl_virtually(trial)
            late = lateness(trial, report)
            promised = set(trial.promised)
            met += sum(site.met is not False for site in report.sites if site.name in promised)
            deadlines += len(promised)
            total, worst = total + float(late.sum()), max(worst, float(late.max()))
            least += hindsight(trial.problem())[1]
        print(
            f"{name}, seed {args.seed}: {met} of {deadlines} met, worst {worst:.2f} s,"
            f" late {total:.1f} s (hindsight {least:.1f} s)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
