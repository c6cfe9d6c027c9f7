"""The status of a keeper: its state every minute, the hourly log, and troubles.

Freshness and age are estimates from the outlooks of its sites (`recrawl.site_outlook`); `KeepLog`
compares them with what was found.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from headgate.control.catalog import Catalog
from headgate.control.keep_log import KeepLog
from headgate.crawling.progress import Progress
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.keeping.change_notices import ChangeNotices
from headgate.jobs.keeping.desk import Desk
from headgate.jobs.keeping.kept_visit import PlannedVisit, VisitEnd
from headgate.jobs.keeping.site_troubles import remedy_of
from headgate.jobs.keeping.volumes import KeepVolumes
from headgate.model.keep_status import (
    AtRisk,
    KeepBudget,
    KeepCounts,
    KeepHour,
    KeepPromises,
    KeepStatus,
    Paused,
    Trouble,
    Visiting,
    Volumes,
)
from headgate.recrawl.collection_freshness import collection_freshness
from headgate.storage.collection import Collection
from headgate.storage.keep_state import add_hours, load_hours, load_status, save_status, save_turns
from headgate.storage.retention.freed import Freed

if TYPE_CHECKING:
    from headgate.jobs.keeping.job import KeepJob

__all__ = ["KeepState"]

_SHOWN = 10


class KeepState:
    def __init__(
        self,
        collection: Collection,
        catalog: Catalog,
        desk: Desk,
        volumes: KeepVolumes,
        job: KeepJob,
    ) -> None:
        self._collection = collection
        self._catalog = catalog
        self._desk = desk
        self._volumes = volumes
        self.job = job
        """As it is now."""
        self._since: float | None = None
        self._log: KeepLog | None = None
        self._promises = KeepPromises()
        self._troubles: dict[str, Trouble] = {}
        self._wall = 0.0
        self._over: list[KeepHour] = []
        """Hours that are over and not stored yet."""

    def visited(self, end: VisitEnd) -> None:
        log = self._opened(end.visit.finished)
        counts, visit = end.counts, end.visit
        done = KeepCounts(
            1, counts.asked, counts.changed, counts.same, counts.new, counts.gone,
            visit.wire_bytes, counts.saved_bytes,
        )  # fmt: skip
        log.visited(visit.site, done)
        for said, changed in end.checked:
            log.looked(said, changed=changed)
        if end.promise is not None:
            late = end.promise.late_seconds
            log.promised(kept=not late)
            before = self._promises
            self._promises = KeepPromises(
                before.kept + (not late),
                before.late + bool(late),
                max(before.worst_late_seconds, late),
            )

    def troubled(self, key: str, what: str, remedy: str) -> None:
        before = self._troubles.get(key)
        since = before.since if before is not None else self._wall
        self._troubles[key] = Trouble(what, since, remedy)

    def settled(self, key: str) -> None:
        self._troubles.pop(key, None)

    def save(
        self,
        now: float,
        visits: Mapping[str, tuple[PlannedVisit, Progress | None]],
        keeping: BudgetKeeping | None,
        notices: ChangeNotices,
        *,
        running: bool,
    ) -> KeepStatus:
        """Write the status and the hours that are over; returns the status."""
        self._wall = now
        log = self._opened(now)
        fresh = collection_freshness(self._desk.board.places.rows, now)
        if fresh is not None:
            log.estimated(fresh)
        self._over += log.turn(now)
        status = KeepStatus(
            since=self._since or now,
            now=now,
            running=running,
            sites=len(self._desk.sites),
            pages=sum(self._desk.pages.values()),
            due_now=self._due(now, visits.keys()),
            visiting=tuple(_visiting(*visit) for visit in visits.values()),
            paused=self._paused(now),
            budget=_budget(keeping),
            last_day=log.last_day(now),
            fresh=fresh,
            checked=log.checked(),
            promises=self._at_risk(now),
            volumes=Volumes(
                "" if self._volumes.open is None else self._volumes.open.stamp,
                self._volumes.waiting,
                self._volumes.sealed,
                self._volumes.freed.captures,
                self._volumes.freed.bytes,
            ),
            notices=notices.counts,
            troubles=(*self._all_troubles(), *notices.troubles()),
            hour=log.open_hour(),
            policy=self.job.policy.name,
            objective=str(self.job.budget.staleness),
        )
        try:
            add_hours(self._collection.path, self._over)
            self._over.clear()
        finally:
            save_status(self._collection.path, status)
        policy = self.job.policy
        save_turns(self._collection.path, policy.name, policy.order.saved())
        return status

    def _opened(self, now: float) -> KeepLog:
        if self._log is None:
            before = load_status(self._collection.path)
            hours = load_hours(self._collection.path, trim=True)
            if before is not None:
                self._since, self._promises = before.since, before.promises
                freed = Freed(before.volumes.removed, before.volumes.freed_bytes)
                self._volumes.freed = self._volumes.freed.plus(freed)
                if before.hour is not None:
                    hours.append(before.hour)
            self._since = self._since or now
            self._log = KeepLog(now, hours)
        return self._log

    def _due(self, now: float, visited: Container[str]) -> int:
        waiting = (name for name in self._desk.sites if name not in visited)
        outlooks = map(self._desk.board.outlook, waiting)
        return sum(outlook is None or outlook.begins <= now for outlook in outlooks)

    def _paused(self, now: float) -> tuple[Paused, ...]:
        """Sites paused by the user; if Headgate itself waits, a trouble says so."""
        found = [
            Paused(name, state.paused_until)
            for name, state in self._desk.states.items()
            if state.paused_until > now and state.paused_by_user and name in self._desk.sites
        ]
        return tuple(sorted(found, key=lambda one: one.until)[:_SHOWN])

    def _at_risk(self, now: float) -> KeepPromises:
        at_risk = []
        for site, left in self._desk.board.places.at_risk(now)[:_SHOWN]:
            outlook = self._desk.board.outlook(site)
            seconds = 0.0 if outlook is None else outlook.promise_seconds
            at_risk.append(AtRisk(site, now + left, left - seconds))
        before = self._promises
        return KeepPromises(before.kept, before.late, before.worst_late_seconds, tuple(at_risk))

    def _all_troubles(self) -> tuple[Trouble, ...]:
        sites = [
            Trouble(state.trouble, state.trouble_since, remedy_of(state.trouble), name)
            for name, state in self._desk.states.items()
            if state.trouble and name in self._desk.sites
        ]
        return (*self._troubles.values(), *self._volumes.troubles.values(), *sites)


def _visiting(planned: PlannedVisit, progress: Progress | None) -> Visiting:
    return Visiting(
        planned.site.name,
        planned.began,
        0 if progress is None else progress.fetches,
        len(planned.asks or ()),
        planned.why,
    )


def _budget(keeping: BudgetKeeping | None) -> KeepBudget:
    if keeping is None:
        return KeepBudget()
    capacity, use = keeping.capacity, keeping.use
    now = keeping.clock.wall() - keeping.allowance.wall
    rate = None if capacity is None else capacity.rate_at(max(now, 0.0))
    if use is None:
        return KeepBudget(rate)
    return KeepBudget(rate, use.left, use.resets.timestamp() if use.spent else None)
