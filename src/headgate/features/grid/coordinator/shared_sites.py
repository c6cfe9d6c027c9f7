"""Sites that several nodes crawl: when all results of a round are stored, the next is planned.

The state of a site follows from the catalog and the journals alone, so a manager that was killed
reads them again. A round is on the board completely or not at all: its tasks are added in one
transaction, after the files with their URLs.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

import msgspec

from headgate.crawling.progress import SHARED_OUT, Progress, TaskState
from headgate.features.grid.coordinator.progress import LOST, GridProgress
from headgate.features.grid.coordinator.requests import DeskView, RequestDesk, lately_seconds
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.tasks import TaskFactory
from headgate.features.grid.coordinator.upload_commit import Received
from headgate.features.grid.protocol import Lease, Manifest, decoded
from headgate.features.grid.scheduler.records import BoardState, NewTask
from headgate.features.grid.scheduler.site_splitting import (
    HostGroups,
    Leftover,
    PartResult,
    can_help,
    groups_of_hosts,
    is_shared,
    next_round,
)
from headgate.features.grid.trust.hoarding import is_own
from headgate.features.grid.trust.scope_gate import SiteBounds
from headgate.frontier.events import JournalEntry
from headgate.model.page import Role
from headgate.model.site import Site
from headgate.model.task import SitePart
from headgate.storage.collection import RunFolder
from headgate.storage.journals.run_journals import Piece, SiteJournal
from headgate.storage.part_seed_file import handout_path, packed_handout, save_handout

__all__ = ["SharedSites", "shared_groups"]

_STATE = "shared"
_REMEDY = "give the run up with 'headgate crawl --abandon'"


def shared_groups(run: RunFolder, sites: Iterable[Site]) -> dict[str, HostGroups]:
    """The sites that several nodes may crawl, by name, with their hosts. Saved when the run
    begins: later changes of the site file do not count."""
    saved = run.load_as(_STATE, dict[str, HostGroups], _REMEDY)
    if saved is None:
        saved = {site.name: groups_of_hosts(site) for site in sites if is_shared(site)}
        run.save(_STATE, msgspec.json.encode(saved))
    return saved


@dataclass(slots=True)
class _Round:
    """The current round of a site."""

    parts: dict[int, SitePart] = field(default_factory=dict)
    """By number."""
    tasks: dict[int, int] = field(default_factory=dict)
    """Task numbers on the board, by part number."""
    results: dict[int, Progress] = field(default_factory=dict)
    """Of parts that are stored."""
    nodes: dict[int, str] = field(default_factory=dict)
    """Whose results those are."""


@dataclass(slots=True)
class SharedSites:
    run: RunFolder
    desk: RequestDesk
    progress: GridProgress
    _sites: dict[str, Site] = field(default_factory=dict)
    """Shared sites that are not done; so are the keys of the other tables."""
    _factory: TaskFactory | None = None
    _left: dict[str, Leftover] = field(default_factory=dict)
    _rounds: dict[str, _Round] = field(default_factory=dict)
    _bounds: dict[str, SiteBounds] = field(default_factory=dict)
    """Where volunteers' results may send others."""

    def take_up(self, factory: TaskFactory, settled: Container[str]) -> None:
        """Read the state of all sites once the desk is open; ``settled`` sites are done already."""
        store = self.desk.store
        self._sites = {
            site.name: site
            for site in factory.sites
            if site.name in factory.groups and site.name not in settled
        }
        if not self._sites:
            return
        self._factory = factory
        self._left = {name: Leftover() for name in self._sites}
        self._bounds = {name: SiteBounds(site) for name, site in self._sites.items()}
        ended: dict[str, dict[int, _Round]] = {name: {} for name in self._sites}
        for name, lease in store.done(self.run.stamp):
            if name in ended:
                task = decoded(store.spec(lease.task), TaskSpec).task
                manifest = store.manifest(lease.task)
                assert task.part is not None
                assert manifest is not None
                of_round = ended[name].setdefault(task.part.round, _Round())
                of_round.parts[task.visit] = task.part
                of_round.results[task.visit] = decoded(manifest, Manifest).progress
                row_of = store.lease(lease)
                of_round.nodes[task.visit] = "" if row_of is None else row_of.node
        for row in store.tasks(self.run.stamp):
            if row.site in ended and row.audit_of is None:
                task = decoded(store.spec(row.id), TaskSpec).task
                assert task.part is not None
                of_round = ended[row.site].setdefault(task.part.round, _Round())
                of_round.parts[task.visit], of_round.tasks[task.visit] = task.part, row.id
        for name, rounds in ended.items():
            *before, last = [rounds[number] for number in sorted(rounds)]
            for one in before:
                self._left[name].add_results(self._results(name, one))
            self._rounds[name] = last

    @property
    def pending(self) -> bool:
        """Whether a round is over and the next one not yet planned."""
        return any(map(self._is_over, self._rounds.values()))

    def stored(self, result: Received) -> None:
        """A part's result is stored. Those that come before `take_up` are read by it."""
        site, number = result.owner
        if site in self._rounds:
            progress = self._rounds[site].results[number] = result.manifest.progress
            self._rounds[site].nodes[number] = result.row.node
            self.progress.part_ended(site, result.row, progress)

    async def poll(self) -> list[str]:
        """Plan the next round of each site whose round is over; returns remarks for the user."""
        remarks: list[str] = []
        running = self.desk.running() if self._rounds else {}
        for name, one in list(self._rounds.items()):
            if not self._is_over(one):
                self._let_others_help(name, one, running)
                continue
            reason = self._why_stopped(one)
            if reason:
                self._end(name, TaskState.STOPPED, reason)
                if reason == LOST:
                    remarks.append(f"{name} is given up: several nodes were lost with a part of it")
                continue
            tasks = await asyncio.to_thread(self._next_tasks, name, one)
            if not tasks:
                self._end(name, TaskState.DONE, "")
                continue
            rows = await asyncio.to_thread(self.desk.store.add_tasks, tasks)
            following = self._rounds[name] = _Round()
            for task, row in zip(tasks, rows, strict=True):
                part = decoded(task.spec, TaskSpec).task.part
                assert part is not None
                following.parts[task.visit], following.tasks[task.visit] = part, row.id
                self.desk.board.add(row)
        return remarks

    def _let_others_help(self, name: str, one: _Round, running: Mapping[Lease, Progress]) -> None:
        """End a part that one node crawls alone, if further nodes have connected since."""
        site, nodes = self._sites[name], self._nodes()
        numbers = {task: number for number, task in one.tasks.items()}
        for lease, told in running.items():
            number = numbers.get(lease.task)
            if number is not None and can_help(site, one.parts[number], told.to_do, nodes):
                self.desk.ending.end_lease(lease, SHARED_OUT)

    def _is_over(self, one: _Round) -> bool:
        return all(
            number in one.results or self._is_dropped(one.tasks[number]) for number in one.parts
        )

    def _is_dropped(self, task: int) -> bool:
        row = self.desk.board.tasks.get(task)
        return row is not None and row.state is BoardState.DROPPED

    def _why_stopped(self, one: _Round) -> str:
        """Why the site ends here; empty: it goes on."""
        reasons = (
            progress.reason
            for progress in one.results.values()
            if progress.state is not TaskState.DONE and progress.reason != SHARED_OUT
        )
        return LOST if len(one.results) < len(one.parts) else next(reasons, "")

    def _end(self, name: str, state: TaskState, reason: str) -> None:
        del self._rounds[name], self._left[name], self._sites[name], self._bounds[name]
        self.progress.end_shared(name, state, reason)

    def _next_tasks(self, name: str, one: _Round) -> list[NewTask]:
        """The tasks of the next round; their files are durable."""
        site, left = self._sites[name], self._left[name]
        left.add_results(self._results(name, one))
        before = next(iter(one.parts.values()))
        waiting = left.waiting(before.hosts)
        for number, progress in one.results.items():
            if progress.reason == SHARED_OUT:  # known pages may wait that no link led to
                group = one.parts[number].group
                waiting[group] = max(waiting.get(group, 0), progress.to_do)
        planned = next_round(site, before, waiting, self._nodes(), left.explored)
        first = max(one.parts) + 1
        met = left.met()
        for number, following in enumerate(planned, first):
            self._hand_out(name, number, left.asks(following.part), met)
        joined = () if site.include else left.joined
        assert self._factory is not None
        return self._factory.parts(site, planned, first, joined)

    def _hand_out(
        self, name: str, number: int, asks: Mapping[int, list[str]], met: array[int]
    ) -> None:
        save_handout(handout_path(self.run, name, number), packed_handout(asks, met))

    def _nodes(self) -> int:
        """Connected now or a short while ago: after a restart of the manager, nodes that have not
        yet reconnected count, too."""
        lately = self.desk.clock.wall() - lately_seconds(self.desk.board.terms.lease_seconds)
        seen = {row.name for row in self.desk.registry.rows.values() if row.seen >= lately}
        return len(seen | set(DeskView(self.desk).here()))

    def _results(self, name: str, one: _Round) -> Sequence[PartResult]:
        """Of a round. A redirect that only a volunteer's node has seen may be made up: others are
        not sent to where it leads."""
        bounds, found = self._bounds[name], []
        by_trust = sorted(
            one.results.items(), key=lambda item: (not self._is_own(one, item[0]), item[0])
        )
        for number, progress in by_trust:
            journal = SiteJournal([Piece(self.run.place(name, visit=number).journal)])
            entries: Callable[[], Iterable[JournalEntry]] = journal.entries
            if self._is_own(one, number):
                bounds.learn(row for rows in journal.pages() for row in rows)
            else:
                entries = partial(_within, bounds, journal)
            robots = [
                row.url for rows in journal.pages() for row in rows if row.role == Role.ROBOTS
            ]
            done = progress.state is TaskState.DONE
            found.append((number, PartResult(one.parts[number], done, entries, robots)))
        return [result for _, result in sorted(found, key=itemgetter(0))]

    def _is_own(self, one: _Round, number: int) -> bool:
        row = self.desk.registry.rows.get(one.nodes.get(number, ""))
        return row is None or is_own(row.group)


def _within(bounds: SiteBounds, journal: SiteJournal) -> Iterator[JournalEntry]:
    return map(bounds.within, journal.entries())
