"""A survey of a few servers as one task of a node."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.survey_run import SurveyRun, SurveyTools
from headgate.crawling.survey_task import SurveyTaskRun
from headgate.frontier.pacing import PaceRules
from headgate.jobs.surveys.registrable import registrable_domain
from headgate.model.task import SurveyedServers, Task
from headgate.storage.journals.survey_log import SurveyFile, SurveyIndex
from headgate.surveying.memory import NO_MEMORY
from headgate.surveying.rules import SurveyRules
from headgate.surveying.surveyor import Surveyor

__all__ = ["open_survey_task", "task_rules"]


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
        pace=PaceRules(connections=1, delay=servers.delay, failure_limit=3, busy_limit=3),
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
