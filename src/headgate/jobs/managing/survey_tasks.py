"""Divides the servers of a survey into tasks of a grid, and merges their logs into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate.control.board_rows import NewTask
from headgate.crawling.progress import Progress
from headgate.crawling.survey_entries import changed
from headgate.crawling.task_messages import encoded
from headgate.grid.given_tasks import TaskSpec
from headgate.model.errors import HeadgateError
from headgate.model.site import Site
from headgate.model.task import SurveyedServers, Task
from headgate.reading.urls import host
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.survey_log import SurveyFile, SurveyIndex, read_survey
from headgate.surveying.domains import is_internal
from headgate.surveying.server_tree import ServerState, ServerTree
from headgate.surveying.surveyor import Surveyor

__all__ = ["FINISHED", "SurveyTasks"]

FINISHED = "finished"
_PARTS, _MOST_SERVERS = 16, 20
"""Least number of tasks, and most servers of a task: little is lost with a node, and a node surveys
many servers at once."""
_ENTRIES_AT_ONCE = 1_000


@dataclass(slots=True)
class SurveyTasks:
    surveyor: Surveyor
    run: str
    """The stamp."""
    contact: str
    _servers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Domains of the servers of each task."""
    _starts: dict[str, list[str]] = field(default_factory=dict)
    """The user's starting URLs by domain."""
    _planted: int = 0
    """Number of servers that `new` has seen."""

    def begin(self, starts: Sequence[str]) -> None:
        for start in starts:
            self.surveyor.start([start])
            tree = self.surveyor.territory.tree_of(host(start))
            assert tree is not None
            self._starts.setdefault(tree.domain, []).append(start)

    def remember(self, spec: TaskSpec) -> None:
        """Add a task that an earlier manager made."""
        assert spec.task.survey is not None
        domains: list[str] = []
        for name in map(host, spec.task.survey.starts):
            if not any(is_internal(name, domain) for domain in domains):
                domains.append(self.surveyor.territory.domain(name))
        self._servers[spec.task.name] = tuple(domains)

    def new(self) -> list[NewTask]:
        """Tasks for waiting servers that have none yet."""
        given = {domain for domains in self._servers.values() for domain in domains}
        trees, self._planted = self.surveyor.trees[self._planted :], len(self.surveyor.trees)
        waiting = [tree for tree in trees if tree.domain not in given]
        size = min(math.ceil(len(waiting) / _PARTS), _MOST_SERVERS) or 1
        return [self._task(waiting[begin : begin + size]) for begin in range(0, len(waiting), size)]

    def gather(self, site: str, journal: Path, progress: Progress, log: SurveyFile) -> None:
        """Take in the log of a task, and append it to the survey's log."""
        found: dict[str, list[str]] = {}
        stored, domains = SurveyIndex(journal), self._servers[site]
        trees = {tree.domain: tree for tree in self.surveyor.trees if tree.domain in domains}
        for domain, tree in trees.items():
            if tree.state is ServerState.WAITING:
                found |= self.surveyor.gather(
                    tree.number, stored, progress.given_up.get(domain, ""),
                    whole=progress.reason == FINISHED,
                )  # fmt: skip
        for number, entry in enumerate(read_survey(journal), 1):
            tree = trees[entry.domain]
            hosts = found.get(entry.url, ())
            log.put(changed(entry, start=tree.start, round=tree.round, new_hosts=hosts))
            if number % _ENTRIES_AT_ONCE == 0:
                log.commit()
        log.commit()

    def believable(self, journal: Path, owner: Owner, _: dict[str, int]) -> bool:
        """Whether a log from a node is valid, and is about the task's own servers only."""
        domains, most = self._servers.get(owner.site, ()), self.surveyor.rules.most_requests
        try:
            return all(
                entry.domain in domains
                and is_internal(host(entry.url), entry.domain)
                and 0 < entry.requests <= most
                and entry.wire_bytes >= 0
                for entry in read_survey(journal)
            )
        except (HeadgateError, ValueError):
            return False

    def _task(self, trees: Sequence[ServerTree]) -> NewTask:
        rules, domains = self.surveyor.rules, tuple(tree.domain for tree in trees)
        name = domains[0]
        others = {tree.domain for tree in self.surveyor.trees}.difference(domains)
        starts = tuple(
            start for tree in trees for start in self._starts.get(tree.domain, [tree.start])
        )
        survey = SurveyedServers(
            starts=starts, depth=rules.depth, most_requests=rules.most_requests,
            most_bytes=rules.most_bytes, delay=rules.pace.delay, least_yield=rules.least_yield,
            breadth_first=rules.breadth_first, whole_registration=rules.whole_registration,
            others=tuple(
                sorted(other for other in others if any(is_internal(other, own) for own in domains))
            ),
        )  # fmt: skip
        self._servers[name] = domains
        task = Task(Site(name, starts), survey=survey)
        return NewTask(
            run=self.run, site=name, host=name, value=float(len(trees)),
            spec=encoded(TaskSpec(task=task, contact=self.contact)),
        )  # fmt: skip
