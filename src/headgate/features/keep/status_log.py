"""The status of a keeper: its state every minute, the hourly log, and troubles.

Freshness and age are estimates from the outlooks of its sites
(`features.keep.recrawl.site_outlook`); `KeepLog` compares them with what was found.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING

from headgate.control.catalog import Catalog
from headgate.crawling.progress import Progress
from headgate.engine.budget import BudgetKeeper
from headgate.features.keep.notices import ChangeNotices
from headgate.features.keep.recrawl.site_table import collection_freshness
from headgate.features.keep.status import (
    CHECK_BINS,
    AtRisk,
    Checked,
    Fresh,
    KeepBudget,
    KeepCounts,
    KeepHour,
    KeepPromises,
    KeepStatus,
    Paused,
    RunningVisit,
    Trouble,
    Volumes,
)
from headgate.features.keep.status_files import (
    add_hours,
    load_hours,
    load_status,
    save_status,
    save_turns,
)
from headgate.features.keep.visit import PlannedVisit, VisitEnd, remedy_of
from headgate.features.keep.visit_planner import VisitPlanner
from headgate.features.keep.volumes import KeepVolumes
from headgate.storage.collection import Collection
from headgate.storage.retention import Freed

if TYPE_CHECKING:
    from headgate.features.keep.job import KeepJob

__all__ = ["HOUR", "KeepLog", "KeeperStatus"]

_SHOWN = 10


class KeeperStatus:
    def __init__(
        self,
        collection: Collection,
        catalog: Catalog,
        planner: VisitPlanner,
        volumes: KeepVolumes,
        job: KeepJob,
    ) -> None:
        self._collection = collection
        self._catalog = catalog
        self._planner = planner
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
            1,
            counts.asked,
            changed=counts.changed,
            not_modified=counts.same,
            new=counts.new,
            gone=counts.gone,
            wire_bytes=visit.wire_bytes,
            saved_bytes=counts.saved_bytes,
        )
        log.record_visit(visit.site, done)
        for said, changed in end.checked:
            log.record_fetch(said, changed=changed)
        if end.promise is not None:
            late = end.promise.late_seconds
            log.record_promise(kept=not late)
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
        keeping: BudgetKeeper | None,
        notices: ChangeNotices,
        *,
        running: bool,
    ) -> KeepStatus:
        """Write the status and the hours that are over; returns the status."""
        self._wall = now
        log = self._opened(now)
        fresh = collection_freshness(self._planner.board.places.rows, now)
        if fresh is not None:
            log.record_estimate(fresh)
        self._over += log.turn(now)
        status = KeepStatus(
            since=self._since or now,
            now=now,
            running=running,
            sites=len(self._planner.sites),
            pages=sum(self._planner.pages.values()),
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
                self._volumes.has_freed(freed)
                if before.hour is not None:
                    hours.append(before.hour)
            self._since = self._since or now
            self._log = KeepLog(now, hours)
        return self._log

    def _due(self, now: float, visited: Container[str]) -> int:
        waiting = (name for name in self._planner.sites if name not in visited)
        outlooks = map(self._planner.board.outlook, waiting)
        return sum(outlook is None or outlook.begins <= now for outlook in outlooks)

    def _paused(self, now: float) -> tuple[Paused, ...]:
        """Sites paused by the user; if Headgate itself waits, a trouble says so."""
        found = [
            Paused(name, state.paused_until)
            for name, state in self._planner.states.items()
            if state.paused_until > now and state.paused_by_user and name in self._planner.sites
        ]
        return tuple(sorted(found, key=lambda one: one.until)[:_SHOWN])

    def _at_risk(self, now: float) -> KeepPromises:
        at_risk = []
        for site, left in self._planner.board.places.at_risk(now)[:_SHOWN]:
            outlook = self._planner.board.outlook(site)
            seconds = 0.0 if outlook is None else outlook.promise_seconds
            at_risk.append(AtRisk(site, now + left, left - seconds))
        before = self._promises
        return KeepPromises(before.kept, before.late, before.worst_late_seconds, tuple(at_risk))

    def _all_troubles(self) -> tuple[Trouble, ...]:
        sites = [
            Trouble(state.trouble, state.trouble_since, remedy_of(state.trouble), name)
            for name, state in self._planner.states.items()
            if state.trouble and name in self._planner.sites
        ]
        return (*self._troubles.values(), *self._volumes.troubles.values(), *sites)


def _visiting(planned: PlannedVisit, progress: Progress | None) -> RunningVisit:
    return RunningVisit(
        planned.site.name,
        planned.began,
        0 if progress is None else progress.fetches,
        len(planned.asks or ()),
        planned.why,
    )


def _budget(keeping: BudgetKeeper | None) -> KeepBudget:
    if keeping is None:
        return KeepBudget()
    capacity, use = keeping.capacity, keeping.use
    now = keeping.clock.wall() - keeping.allowance.wall
    rate = None if capacity is None else capacity.rate_at(max(now, 0.0))
    if use is None:
        return KeepBudget(rate)
    return KeepBudget(rate, use.left, use.resets.timestamp() if use.spent else None)


HOUR = 3_600.0
_DAY_HOURS = 24
_CHECKED_HOURS = 30 * _DAY_HOURS
_MOST_SITES = 20
"""Sites listed by name in an hour."""


class KeepLog:
    """The hourly log of a keeper: what it did, the estimated freshness of its pages, and how well
    predicted changes were calibrated.

    Events are added by `visited`, `looked`, `promised` and `estimated`; `turn` returns each hour
    once when it is over, to be stored.

    A clock that is set back does not open an hour twice: until it has caught up, events count for
    the open hour.

    ``before`` are the stored hours, the oldest first; the last may be the open one.
    """

    def __init__(self, now: float, before: Iterable[KeepHour] = ()) -> None:
        self._past: deque[KeepHour] = deque(before, maxlen=_CHECKED_HOURS)
        begins = _hour_of(now)
        is_open = bool(self._past) and self._past[-1].start >= begins
        self._begin(self._past.pop() if is_open else KeepHour(begins))
        self._past_checked: Checked | None = None
        """Sum over past hours; None: to be computed."""

    def _begin(self, hour: KeepHour) -> None:
        """Events count for this hour from now on, beside what it has."""
        self._start, self._counts, self._fresh = hour.start, hour.counts, hour.fresh
        self._by_site = Counter(hour.bytes_by_site)
        self._looks = list(hour.checked.looks)
        self._said = list(hour.checked.said)
        self._found = list(hour.checked.found)
        self._kept, self._late = hour.kept, hour.late

    def record_visit(self, site: str, counts: KeepCounts) -> None:
        """A visit has ended."""
        self._counts = self._counts.plus(counts)
        self._by_site[site] += counts.wire_bytes

    def record_fetch(self, probability: float, *, changed: bool) -> None:
        """A page that had changed with this probability was fetched."""
        place = min(int(probability * CHECK_BINS), CHECK_BINS - 1)
        self._looks[place] += 1
        self._said[place] += probability
        self._found[place] += changed

    def record_promise(self, *, kept: bool) -> None:
        """A promise was kept, or is late."""
        if kept:
            self._kept += 1
        else:
            self._late += 1

    def record_estimate(self, fresh: Fresh) -> None:
        self._fresh = fresh

    def turn(self, now: float) -> list[KeepHour]:
        """The open hour, if it is over; later events count for the next."""
        start = _hour_of(now)
        if start <= self._start:
            return []
        over = self.open_hour()
        self._past.append(over)
        self._past_checked = None
        self._begin(KeepHour(start))
        return [over]

    def open_hour(self) -> KeepHour:
        named = {site: self._by_site[site] for site in sorted(self._by_site) if site}
        largest = dict(Counter(named).most_common(_MOST_SITES))
        others = sum(self._by_site.values()) - sum(largest.values())
        return KeepHour(
            self._start,
            self._counts,
            bytes_by_site=largest | ({"": others} if others else {}),
            fresh=self._fresh,
            checked=self._checked_now,
            kept=self._kept,
            late=self._late,
        )

    def last_day(self, now: float) -> KeepCounts:
        """The open hour and the 24 before it."""
        total = self._counts
        for hour in self._past:
            if hour.start >= _hour_of(now) - _DAY_HOURS * HOUR:
                total = total.plus(hour.counts)
        return total

    def checked(self) -> Checked:
        """The calibration over the last thirty days."""
        if self._past_checked is None:
            total = Checked()
            for hour in self._past:
                total = total.plus(hour.checked)
            self._past_checked = total
        return self._past_checked.plus(self._checked_now)

    @property
    def _checked_now(self) -> Checked:
        """In the open hour."""
        return Checked(tuple(self._looks), tuple(self._said), tuple(self._found))


def _hour_of(moment: float) -> float:
    return moment // HOUR * HOUR
