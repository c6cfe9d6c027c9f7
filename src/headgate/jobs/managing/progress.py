"""How sites fare that nodes elsewhere crawl, as a report and a person looking on want it."""

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


@dataclass(slots=True)
class GridProgress:
    """One progress for each site that was begun, however many leases its task had."""

    desk: Desk
    in_run: Callable[[float], float]
    """A moment of the wall's clock in the time of the run."""
    begun: dict[str, float] = field(default_factory=dict)
    """When a site's task was last given out, in the time of the run."""
    shared: dict[str, PartsProgress] = field(default_factory=dict)
    """Of the sites that several nodes may crawl."""
    _settled: set[str] = field(default_factory=set)
    """Sites whose result is stored, or never will be."""
    _to_tell: list[Progress] = field(default_factory=list)
    """Of these, those not yet reported."""

    def reports(self) -> list[Progress]:
        """Of the sites that run, and once of those that ended: when the result is stored, whatever
        its node says before."""
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
        """Several nodes may crawl these."""
        self.shared = {name: PartsProgress(name) for name in sites}

    def part_ended(
        self, site: str, row: LeaseRow, progress: Progress, *, in_leg: bool = True
    ) -> None:
        """Of a site that is shared, a part's result is stored."""
        self.begun.setdefault(site, self.in_run(row.given))
        at = self.in_run(self.desk.clock.wall() if row.ended is None else row.ended)
        self.shared[site].ended(row.lease, progress, at, in_leg=in_leg)

    def end_shared(self, site: str, state: TaskState, reason: str) -> None:
        """Of a site that is shared nothing more will come."""
        begun = self.begun.setdefault(site, self.in_run(self.desk.clock.wall()))
        whole = self.shared[site].last(state, reason)
        whole.ended = max(self.shared[site].last_end - begun, 0.0)
        self._settle(whole)

    def ended(self, row: LeaseRow, progress: Progress) -> None:
        """A site's result is stored."""
        name = progress.site
        self.begun[name] = self.in_run(row.given)
        self._settle(_as_life(progress, name, row.lease.epoch))

    def give_up_dropped(self) -> list[str]:
        """What there is to say of it."""
        remarks: list[str] = []
        for task in self.desk.board.tasks.in_state(BoardState.DROPPED):
            if task.site in self.shared:
                continue  # a part; its site ends when the others have
            if task.site not in self._settled and task.audit_of is None:
                self.begun[task.site] = self.in_run(self.desk.clock.wall())
                self._settle(Progress(task.site, TaskState.STOPPED, 0.0, 0.0, reason=LOST))
                remarks.append(f"{task.site} is given up: {task.lost} nodes were lost with it")
        return remarks

    def _settle(self, progress: Progress) -> None:
        self._settled.add(progress.site)
        self._to_tell.append(progress)

    def take_up(self, store: BoardStore, run: str, told: Container[str]) -> None:
        """What was stored just before an earlier manager ended, and its report does not tell."""
        for site, lease in store.done(run):
            if site not in told:
                row, manifest = store.lease(lease), store.manifest(lease.task)
                assert row is not None
                assert manifest is not None
                progress = decoded(manifest, Manifest).progress
                if site in self.shared:
                    self.part_ended(site, row, progress, in_leg=False)
                else:
                    self.ended(row, progress)


def _as_life(progress: Progress, site: str, epoch: int) -> Progress:
    """Another lease counts anew, like another visit."""
    return msgspec.structs.replace(progress, site=site, visit=epoch)
