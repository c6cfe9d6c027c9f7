"""A task that surveys servers, run by a node like a site."""

from __future__ import annotations

import math

from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.progress import Progress, TaskState
from headgate.crawling.survey_run import SurveyRun
from headgate.model.task import Task
from headgate.surveying.server_tree import ServerState

__all__ = ["SurveyTaskRun"]


class SurveyTaskRun:
    """A `headgate.crawling.node.NodeRun`."""

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
        progress.state, progress.started = TaskState.CRAWLING, self._seconds
        reason = await self._survey.run()
        self.look()
        done = self._survey.surveyor.ending == reason
        progress.state = TaskState.DONE if done else TaskState.STOPPED
        progress.reason, progress.ended = reason, self._seconds
        return progress

    def stop(self, reason: str) -> None:
        self._survey.stop(reason)

    def rate_changed(self) -> None:
        """Nothing to do: each server gets one request at a time, whatever the rate."""

    def look(self) -> Progress:
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
