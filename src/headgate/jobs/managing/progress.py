"""The progress of sites that are crawled by nodes, for report and display."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field

import msgspec

from headgate.control.board_rows import BoardState, BoardStore, LeaseRow
from headgate.crawling.progress import Progress, TaskState
from headgate.crawling.task_messages import Lease, Manifest, decoded
from headgate.grid.desk import Desk
from headgate.jobs.managing.parts_progress import PartsProgress

__all__ = ["LOST", "GridProgress"]

LOST = "lost with several nodes"
"""The reason of a site that was given up."""

_TOO_LARGE = "its seeds and settings are larger than a message to a node"


@dataclass(slots=True)
class GridProgress:
    """One `Progress` for each site that was begun, however many leases its task had."""

    desk: Desk
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
