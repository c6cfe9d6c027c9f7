"""A survey of a few servers as one task of a node."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path

from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.progress import Progress
from headgate.features.survey.log import SurveyFile, SurveyIndex
from headgate.features.survey.run import SurveyRun, SurveyTools
from headgate.features.survey.strategy.entries import NO_MEMORY
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.server_tree import ServerState
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.features.survey.wrapping_up import registrable_domain
from headgate.frontier.politeness import PolitenessRules
from headgate.model.task import SurveyedServers, Task

__all__ = ["open_survey_task"]


class SurveyTaskRun:
    """A task that surveys servers, run by a node like a site.

    A `headgate.crawling.node.NodeRun`.
    """

    max_rate = math.inf

    def __init__(
        self, task: Task, survey: SurveyRun, fetcher: Fetcher, clock: Clock, started: float | None
    ) -> None:
        """``started``: when the task was started, by the clock; None: now."""
        self.progress = Progress(task.name, visit=task.visit)
        self._survey = survey
        self._fetcher = fetcher
        self._clock = clock
        self._started = clock.now() if started is None else started

    async def run(self) -> Progress:
        """Survey until nothing is left or the run is stopped; raises faults of this machine."""
        progress = self.progress
        progress.begin(self._seconds)
        reason = await self._survey.run()
        self.report_progress()
        progress.end(self._seconds, reason, done=self._survey.surveyor.ending == reason)
        return progress

    def stop(self, reason: str) -> None:
        self._survey.stop(reason)

    def rate_changed(self) -> None:
        """Nothing to do: each server gets one request at a time, whatever the rate."""

    def report_progress(self) -> Progress:
        progress, surveyor = self.progress, self._survey.surveyor
        progress.pages = sum(tree.pages for tree in surveyor.trees)
        progress.fetches, progress.wire_bytes = surveyor.requests, surveyor.wire_bytes
        progress.under_way_bytes = self._fetcher.under_way(progress.site)
        progress.to_do = sum(tree.waiting for tree in surveyor.trees)
        progress.seen = progress.to_do + surveyor.requests
        progress.pausing = not any(tree.pace.in_flight for tree in surveyor.trees)
        progress.given_up = {
            tree.domain: tree.reason
            for tree in surveyor.trees
            if tree.state is ServerState.GIVEN_UP
        }
        return progress

    @property
    def _seconds(self) -> float:
        return self._clock.now() - self._started


# A survey of a few servers as one task of a node.


def task_rules(servers: SurveyedServers) -> SurveyRules:
    """All of its servers at once, with one request at a time to each."""
    return SurveyRules(
        depth=servers.depth,
        rounds=0,
        whole_registration=servers.whole_registration,
        breadth_first=servers.breadth_first,
        least_yield=servers.least_yield,
        most_requests=servers.most_requests,
        most_bytes=servers.most_bytes,
        slots=max(len(servers.starts), 1),
        pace=PolitenessRules(connections=1, delay=servers.delay, failure_limit=3, busy_limit=3),
    )


def open_survey_task(
    task: Task,
    servers: SurveyedServers,
    log: Path,
    fetcher: Fetcher,
    clock: Clock,
    started: float | None,
    files: ExitStack,
) -> SurveyTaskRun:
    """Continues from ``log``, which ``files`` will close."""
    stored = SurveyIndex(log) if log.exists() else NO_MEMORY
    surveyor = Surveyor(task_rules(servers), registrable_domain(), stored)
    surveyor.territory.leave(servers.others)
    surveyor.start(servers.starts)
    log.touch()  # a survey without a single request is a result, too
    file = SurveyFile(log)
    files.callback(file.close)
    tools = SurveyTools(fetcher, file, clock, NO_MEMORY, site=task.name)
    return SurveyTaskRun(task, SurveyRun(surveyor, tools), fetcher, clock, started)
