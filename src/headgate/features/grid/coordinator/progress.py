"""The progress of sites that nodes crawl, whole or in parts, for report and display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from headgate.crawling.progress import SHARED_OUT, Progress, TaskState
from headgate.features.grid.coordinator.requests import RequestDesk
from headgate.features.grid.protocol import Lease, Manifest, decoded
from headgate.features.grid.scheduler.records import BoardState, BoardStore, LeaseRow
from headgate.model.run_report import merged

__all__ = ["LOST", "GridProgress"]

LOST = "lost with several nodes"
"""The reason of a site that was given up."""

_TOO_LARGE = "its seeds and settings are larger than a message to a node"


@dataclass(slots=True)
class GridProgress:
    """The progress of sites that are crawled by nodes, for report and display.

    One `Progress` for each site that was begun, however many leases its task had.
    """

    desk: RequestDesk
    in_run: Callable[[float], float]
    """Converts wall-clock time into the time of the run."""
    begun: dict[str, float] = field(default_factory=dict)
    """When a site's task was last leased, in the time of the run."""
    shared: dict[str, PartsProgress] = field(default_factory=dict)
    """Of the sites that several nodes may crawl."""
    _settled: set[str] = field(default_factory=set)
    """Sites whose result is stored, or never will be."""
    _to_tell: list[Progress] = field(default_factory=list)
    """The progress of those not yet reported."""

    def reports(self) -> list[Progress]:
        """The progress of running sites, and once of each that has ended, which is when its result
        is stored."""
        found: dict[str, Progress] = {}
        parts: dict[str, dict[Lease, Progress]] = {}
        for lease, progress in self.desk.running().items():
            held = self.desk.board.leases.get(lease)
            if held is None or held.task.audit_of is not None or held.task.site in self._settled:
                continue
            name = held.task.site
            if name in self.shared:
                self.begun.setdefault(name, self.in_run(held.row.given))
                parts.setdefault(name, {})[lease] = progress
                continue
            self.begun[name] = self.in_run(held.row.given)
            told = _as_life(progress, name, lease.epoch)
            told.ended, told.state = None, TaskState.CRAWLING
            before = found.get(name)
            if before is None or told.arrived_bytes > before.arrived_bytes:
                found[name] = told
        wholes = [self.shared[name].whole(running) for name, running in parts.items()]
        ended, self._to_tell = self._to_tell, []
        return [*found.values(), *wholes, *ended]

    def share(self, sites: Iterable[str]) -> None:
        """Set the sites that several nodes may crawl."""
        self.shared = {name: PartsProgress(name) for name in sites}

    def part_ended(
        self, site: str, row: LeaseRow, progress: Progress, *, in_leg: bool = True
    ) -> None:
        """The result of a part of a shared site is stored."""
        self.begun.setdefault(site, self.in_run(row.given))
        at = self.in_run(self.desk.clock.wall() if row.ended is None else row.ended)
        self.shared[site].ended(row.lease, progress, at, in_leg=in_leg)

    def end_shared(self, site: str, state: TaskState, reason: str) -> None:
        """A shared site has ended."""
        begun = self.begun.setdefault(site, self.in_run(self.desk.clock.wall()))
        whole = self.shared[site].last(state, reason)
        whole.ended = max(self.shared[site].last_end - begun, 0.0)
        self._settle(whole)

    def ended(self, site: str, row: LeaseRow, progress: Progress) -> None:
        """A site's result is stored. However long its node says that it took, it was not longer
        than the run."""
        self.begun[site] = self.in_run(row.given)
        told = _as_life(progress, site, row.lease.epoch)
        longest = self.in_run(self.desk.clock.wall())
        told.started = None if told.started is None else min(told.started, longest)
        told.ended = None if told.ended is None else min(told.ended, longest)
        self._settle(told)

    def give_up_dropped(self) -> list[str]:
        """Give up sites whose task was dropped; return messages for the user."""
        remarks: list[str] = []
        for task in self.desk.board.tasks.in_state(BoardState.DROPPED):
            if task.site in self.shared:
                continue  # a part; its site ends when the others have
            if task.site not in self._settled and task.audit_of is None:
                self.begun[task.site] = self.in_run(self.desk.clock.wall())
                reason = LOST if task.lost else _TOO_LARGE
                self._settle(Progress(task.site, TaskState.STOPPED, 0.0, 0.0, reason=reason))
                why = f"{task.lost} nodes were lost with it" if task.lost else _TOO_LARGE
                remarks.append(f"{task.site} is given up: {why}")
        return remarks

    def _settle(self, progress: Progress) -> None:
        self._settled.add(progress.site)
        self._to_tell.append(progress)

    def take_up(self, store: BoardStore, run: str, told: Container[str]) -> None:
        """Take in results that an earlier manager stored, but did not report."""
        for site, lease in store.done(run):
            if site not in told:
                row, manifest = store.lease(lease), store.manifest(lease.task)
                assert row is not None
                assert manifest is not None
                progress = decoded(manifest, Manifest).progress
                if site in self.shared:
                    self.part_ended(site, row, progress, in_leg=False)
                else:
                    self.ended(site, row, progress)


def _as_life(progress: Progress, site: str, epoch: int) -> Progress:
    """With the lease's epoch as visit, so that another lease counts from the beginning."""
    return msgspec.structs.replace(progress, site=site, visit=epoch)


@dataclass(slots=True)
class PartsProgress:
    """The progress of a site that several nodes crawl: one for all its parts.

    Of one site. Bytes on the line count however a lease ended, as for any site.
    """

    site: str
    last_end: float = 0.0
    """In seconds of the run."""
    _ended: dict[int, Progress] = field(default_factory=dict)
    """Of stored parts, by task."""
    _came: dict[Lease, int] = field(default_factory=dict)
    """Bytes on the line by lease, in this leg."""
    _earlier_bytes: int = 0

    def ended(self, lease: Lease, progress: Progress, at: float, *, in_leg: bool = True) -> None:
        """A part is stored. ``in_leg``: since this manager was started."""
        self._ended[lease.task] = progress
        self.last_end = max(self.last_end, at)
        if in_leg:
            self._came[lease] = progress.wire_bytes
        else:
            self._earlier_bytes += progress.wire_bytes

    def whole(self, running: Mapping[Lease, Progress]) -> Progress:
        """Including running parts, as their nodes last reported; one that runs twice counts
        once."""
        for lease, progress in running.items():
            self._came[lease] = max(self._came.get(lease, 0), progress.arrived_bytes)
        best: dict[int, Progress] = {}
        for lease, progress in running.items():
            before = best.get(lease.task)
            if lease.task not in self._ended and (
                before is None or progress.arrived_bytes > before.arrived_bytes
            ):
                best[lease.task] = progress
        whole = _together(self.site, [*self._ended.values(), *best.values()])
        whole.state = TaskState.CRAWLING
        whole.wire_bytes = self._earlier_bytes + sum(self._came.values())
        whole.earlier_wire_bytes = self._earlier_bytes
        return whole

    def last(self, state: TaskState, reason: str) -> Progress:
        """When the site has ended."""
        whole = _together(self.site, list(self._ended.values()))
        whole.state, whole.reason = state, reason
        whole.earlier_wire_bytes = self._earlier_bytes
        if state is TaskState.DONE:
            whole.to_do = 0
        return whole


def _together(site: str, parts: Iterable[Progress]) -> Progress:
    whole = Progress(site, started=0.0)
    for part in parts:
        whole.pages += part.pages
        whole.unchanged += part.unchanged
        whole.payload_bytes += part.payload_bytes
        whole.fetches += part.fetches
        whole.wire_bytes += part.wire_bytes
        whole.seen += part.seen
        whole.fetch_seconds += part.fetch_seconds
        whole.first_byte_seconds += part.first_byte_seconds
        whole.errors = Counter(whole.errors) + Counter(part.errors)
        whole.given_up |= part.given_up
        whole.left_out = merged(whole.left_out, part.left_out)
        if part.reason != SHARED_OUT:  # what it left is counted with the parts that took it over
            whole.to_do += part.to_do
    return whole
