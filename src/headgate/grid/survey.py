"""A survey from end to end on one machine: probe, walk, log, tables, report.

Everything is in a run of a collection, like a crawl's: the log while it goes on, the tables at the
end. The newest finished survey of the collection tells which pages have not changed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.crawling.clock import SystemClock
from headgate.crawling.survey_run import SurveyRun, SurveyTools
from headgate.fetching.dns import Resolver
from headgate.fetching.http import FetcherSettings, HttpFetcher
from headgate.fetching.limits import Limits
from headgate.model.errors import UserMistake
from headgate.model.survey_report import DepthAhead, SurveyDepth, SurveyReport
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.replacing import write_whole
from headgate.storage.survey_log import SURVEY_LOG, SurveyFile, SurveyIndex, read_survey
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.facts import SurveyFacts
from headgate.survey.memory import NO_MEMORY
from headgate.survey.rules import RegistrableDomain
from headgate.survey.survey_rules import SurveyRules
from headgate.survey.surveyor import Surveyor

__all__ = [
    "SURVEY_LIMITS",
    "SurveyJob",
    "SurveyWatcher",
    "registrable_domain",
    "survey",
]

SURVEY_LIMITS = Limits(connect_seconds=10.0, first_byte_seconds=20.0, total_seconds=120.0)
"""A server that takes longer has said what a survey wants to know."""
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SurveyJob:
    """Which servers to survey, and how."""

    starts: tuple[str, ...]
    rules: SurveyRules
    out: Path
    fetcher: FetcherSettings
    bandwidth: float
    """Bytes per second; infinity: unlimited."""
    resume: bool = False
    request: bytes = b"{}"
    """Whatever the caller needs to ask the same again."""
    resolver: Resolver | None = None
    """Instead of the network's names."""


class SurveyWatcher(Protocol):
    """Who looks on; called from the event loop."""

    def attach(self, run: SurveyRun) -> None: ...

    def look(self, seconds: float, run: SurveyRun) -> None: ...


async def survey(job: SurveyJob, watcher: SurveyWatcher) -> SurveyReport:
    """Survey; tables and report are also in the run's folder."""
    collection = Collection(job.out)
    clock = SystemClock()
    with collection.lock():
        before = _earlier_log(collection)
        earlier = NO_MEMORY if before is None else SurveyIndex(before)
        run_folder = _open_run(collection, job, datetime.fromtimestamp(clock.wall(), UTC))
        path = run_folder.path / SURVEY_LOG
        stored = SurveyIndex(path) if path.exists() else NO_MEMORY
        log = SurveyFile(path)
        try:
            surveyor = Surveyor(job.rules, registrable_domain(), stored, earlier)
            if before is not None:
                surveyor.remember(read_survey(before))
            surveyor.start(job.starts)
            began = clock.now()
            async with HttpFetcher(job.fetcher, resolver=job.resolver) as fetcher:
                fetcher.meter.set_total(job.bandwidth)
                run = SurveyRun(surveyor, SurveyTools(fetcher, log, clock, earlier))
                watcher.attach(run)
                ending = await _watched(run, watcher, clock, began)
        finally:
            log.close()
        return await asyncio.to_thread(
            _wrap_up, job, run_folder, surveyor, ending, clock.now() - began
        )


async def _watched(run: SurveyRun, watcher: SurveyWatcher, clock: SystemClock, began: float) -> str:
    async def look_on() -> None:
        while True:
            watcher.look(clock.now() - began, run)
            await asyncio.sleep(_LOOK_SECONDS)

    looking = asyncio.create_task(look_on())
    try:
        return await run.run()
    finally:
        looking.cancel()
        watcher.look(clock.now() - began, run)


def registrable_domain() -> RegistrableDomain:
    """The public suffix list's answer, by the list that comes with its library."""
    from publicsuffixlist import PublicSuffixList

    listed = PublicSuffixList()

    def registered(name: str) -> str:
        is_address = ":" in name or name.rpartition(".")[2].isdigit()
        return name if is_address else listed.privatesuffix(name) or name

    return registered


def _earlier_log(collection: Collection) -> Path | None:
    """Of the newest survey that was finished."""
    for run in collection.runs() if collection.path.is_dir() else ():
        path = run.path / SURVEY_LOG
        if not run.unfinished and path.exists():
            return path
    return None


def _open_run(collection: Collection, job: SurveyJob, started: datetime) -> RunFolder:
    unfinished = collection.unfinished_run()
    if unfinished is not None and unfinished.load("survey") is None:
        raise UserMistake(
            f"{collection.path} has an unfinished crawl ({unfinished.stamp}); finish it with"
            " 'headgate crawl --resume', or name another folder with --out"
        )
    if job.resume:
        if unfinished is None:
            raise UserMistake(f"{collection.path} has no unfinished survey; leave out --resume")
        return unfinished
    if unfinished is not None:
        raise UserMistake(
            f"{collection.path} has an unfinished survey ({unfinished.stamp});"
            " go on with --resume, or name another folder with --out"
        )
    run = collection.new_run(started)
    run.save("survey", job.request)
    return run


def _ahead(surveyor: Surveyor, facts: SurveyFacts) -> list[DepthAhead]:
    requests = sum(level.requests for level in facts.depths)
    bytes_per_request = sum(level.wire_bytes for level in facts.depths) / max(requests, 1)
    return [
        DepthAhead(
            level.depth,
            round(level.pages),
            round(level.pages * bytes_per_request),
            round(level.new_hosts, 1),
        )
        for level in surveyor.to_come()
        if round(level.pages)
    ]


def _wrap_up(
    job: SurveyJob, run: RunFolder, surveyor: Surveyor, ending: str, seconds: float
) -> SurveyReport:
    """Everything that is made of the log; done again after a crash, it is the same."""
    from headgate.storage.survey_tables import write_survey_tables

    unchanged = 0

    def counted() -> Iterator[SurveyEntry]:
        nonlocal unchanged
        for entry in read_survey(run.path / SURVEY_LOG):
            unchanged += entry.ending is Ending.UNCHANGED
            yield entry

    facts = SurveyFacts.of(counted(), surveyor.trees)
    write_survey_tables(facts, run.path)
    servers = facts.servers.values()
    interrupted = surveyor.ending != ending
    report = SurveyReport(
        stamp=run.stamp,
        seconds=seconds,
        ending=ending,
        interrupted=interrupted,
        policy="depth" if job.rules.breadth_first else "yield",
        servers=len(servers),
        reachable=sum(server.reachable for server in servers),
        hosts=len(facts.hosts),
        links=sum(len(server.links) for server in servers),
        requests=sum(server.requests for server in servers),
        pages=sum(server.pages for server in servers),
        wire_bytes=sum(server.wire_bytes for server in servers),
        unchanged=unchanged,
        most_requests=max((server.requests for server in servers), default=0),
        most_bytes=max((server.wire_bytes for server in servers), default=0),
        share_found=surveyor.share_found(),
        next_yield=surveyor.best_value(),
        unreachable=Counter(
            server.reason or server.state for server in servers if not server.pages
        ),
        depths=[
            SurveyDepth(number, level.requests, level.pages, level.wire_bytes, level.new_hosts)
            for number, level in enumerate(facts.depths)
        ],
        ahead=_ahead(surveyor, facts),
    )
    write_whole(run.path / "report.json", msgspec.json.encode(report))
    if not interrupted:
        run.finish()
    return report
