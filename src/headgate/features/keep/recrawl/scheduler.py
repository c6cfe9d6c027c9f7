"""Which site is visited next, and which must wait since it shares a host."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, SiteTerms
from headgate.features.keep.recrawl.site_order import ByWorth, SiteOrder, VisitOf
from headgate.features.keep.recrawl.site_outlook import Outlook
from headgate.features.keep.recrawl.site_table import SiteRows

__all__ = ["DueVisit", "VisitScheduler", "Why"]


class Why(StrEnum):
    """Why a site is visited."""

    USER = "user"
    PROMISE = "promise"
    FIRST = "first"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class DueVisit:
    """A visit that should be made now."""

    site: str
    why: Why
    due: float | None
    """When the site's promise would be broken; None: nothing is promised, or not yet."""
    expected_bytes: float
    """0: not known."""
    expected_seconds: float
    most_seconds: float = math.inf
    """Time limit of a visit for a promise."""


class VisitScheduler:
    """Which site is visited next: the board of a collection that is kept fresh.

    It knows the sites, their outlooks after a visit (`Outlook`), visits that begin and end, and
    pauses. The next task is, in this order,

    1. what the user wants now;
    2. promises: with P the promised time and s the seconds of a visit to all pages, slack is oldest
       look + P − now − s; a site with less than max(2·s, 5 % of P) goes first, the least slack
       before the others, for a slice of time (`SiteRows.promise_slice`);
    3. sites never visited, the most important first;
    4. the site whose best visit is worth most by the policy's order (`site_order`): by its curve,
    or
       by the groups of a published policy.

    A site is left out if it is paused, or if one of its hosts has a visit running. Pure: time is an
    argument, in seconds since 1970. No pages are read: an answer is one pass over arrays of all
    sites (`site_table`).

    Sites go by name.
    """

    def __init__(self, order: SiteOrder | None = None) -> None:
        """None: by the value of a visit."""
        self.order: SiteOrder = order or ByWorth()
        """Public, as callers ask when a turn began, and end turns without a visit."""
        self.places = SitePlaces()
        self._guests = HostConflicts()
        self._terms: dict[str, SiteTerms] = {}
        self._outlooks: dict[str, Outlook] = {}
        self._wanted: dict[str, None] = {}

    def outlook(self, site: str) -> Outlook | None:
        """Its latest outlook; None: it was never visited."""
        return self._outlooks.get(site)

    def put(self, site: str, terms: SiteTerms, outlook: Outlook | None = None) -> None:
        """Add a site or change its terms; ``outlook``: as stored in the catalog."""
        place = self.places.row(site)
        self._terms[site] = terms
        rows = self.places.rows
        rows.set_terms(place, terms)
        rows.blocked[place] = self._guests.put(site, terms.hosts)
        if outlook is not None:
            self.remember(site, outlook)

    def drop(self, site: str) -> None:
        """Remove a site; its running visit may still end."""
        self._guests.drop(site)
        self.places.drop(site)
        del self._terms[site]
        self.order.drop(site)
        self._outlooks.pop(site, None)
        self._wanted.pop(site, None)

    def remember(self, site: str, outlook: Outlook) -> None:
        """Set the outlook of a site."""
        if site not in self.places:
            return
        self._outlooks[site] = outlook
        self.places.rows.set_outlook(self.places[site], outlook)
        terms = self._terms[site]
        rates = terms.grid.rates
        weights = np.array(outlook.rate_weights[: len(rates)])
        total = float(weights.sum())
        rate = float(weights @ rates[: len(weights)]) / total if total else float(rates[0])
        self.order.put(site, rate / DAY_SECONDS, terms.min_interval, outlook.oldest_look)

    def want(self, site: str) -> None:
        """The user wants it visited now, paused or not."""
        self._wanted[site] = None

    def pause(self, site: str, until: float) -> None:
        """Do not visit a site before ``until``; a time in the past ends a pause."""
        if site in self.places:
            self.places.rows.paused_until[self.places[site]] = until

    def begin(self, site: str, now: float) -> None:
        """Begin a visit."""
        self._block(self._guests.begin(site), 1)
        self._wanted.pop(site, None)
        self.order.begin(site, now)

    def end(self, site: str, now: float, of: VisitOf = VisitOf.ALL) -> None:
        """End a visit, after `remember` and `pause`, or the site may be the next task again."""
        self._block(self._guests.end(site), -1)
        self.order.end(site, now, of)

    def next_task(self, now: float) -> DueVisit | None:
        """The most valuable visit now; None: nothing may be visited."""
        rows = self.places.rows
        open_ = rows.there & (rows.blocked == 0)
        for site in self._wanted:
            if open_[self.places[site]]:
                return self._task(self.places[site], Why.USER)
        open_ &= rows.paused_until <= now
        pressing = open_ & (rows.presses_at() <= now)
        if pressing.any():
            return self._task(_least(rows.slack(now), pressing), Why.PROMISE)
        new = open_ & ~rows.known
        if new.any():
            return self._task(_least(-rows.importance, new), Why.FIRST)
        self._take_turns(now)
        values = self.order.values(rows, now)
        worth = open_ & (values > 0)
        return self._task(_least(-values, worth), Why.INDEX) if worth.any() else None

    def next_moment(self, now: float) -> float:
        """When there may be a task if nothing changes before; infinite: never."""
        rows = self.places.rows
        self._take_turns(now)
        turns = np.where(rows.unseen > 0, rows.begins, np.maximum(rows.begins, rows.due))
        ready = np.minimum(np.where(rows.known, turns, now), rows.presses_at())
        return _soonest(np.maximum(ready, rows.paused_until)[rows.there & (rows.blocked == 0)], now)

    def next_promise(self, now: float) -> float:
        """When the next promise becomes urgent; infinite: none does."""
        rows = self.places.rows
        return _soonest(np.maximum(rows.presses_at(), rows.paused_until)[rows.there], now)

    def _take_turns(self, now: float) -> None:
        for site, due in self.order.turns(now).items():
            self.places.rows.due[self.places[site]] = due

    def _task(self, place: int, why: Why) -> DueVisit:
        site = self.places.name(place)
        known, promised = self._outlooks.get(site), self._terms[site].fresh_within
        if known is None:
            return DueVisit(site, why, None, 0.0, 0.0)
        due = None if promised is None else known.oldest_look + promised
        if why is Why.PROMISE:
            most = self.places.rows.promise_slice()
            seconds = min(known.promise_seconds, most)
            part = seconds / known.promise_seconds if known.promise_seconds else 1.0
            return DueVisit(
                site,
                why,
                due=due,
                expected_bytes=part * known.promise_bytes,
                expected_seconds=seconds,
                most_seconds=most,
            )
        return DueVisit(site, why, due, known.expected_bytes, known.expected_seconds)

    def _block(self, sites: Iterable[str], visits: int) -> None:
        for site in sites:
            self.places.rows.blocked[self.places[site]] += visits


def _least(values: FloatArray, among: BoolArray) -> int:
    return int(np.argmin(np.where(among, values, np.inf)))


def _soonest(moments: FloatArray, now: float) -> float:
    return float(np.maximum(moments, now).min()) if len(moments) else np.inf


@dataclass(slots=True)
class HostConflicts:
    """Which hosts have a visit running: sites that share a host wait for each other."""

    _hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each site."""
    _sites: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """At each host."""
    _visits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Sites with a running visit, and their hosts when it began."""

    def put(self, site: str, hosts: Iterable[str]) -> int:
        """Set the hosts of a site; return how many visits are running there."""
        self.drop(site)
        self._hosts[site] = tuple(hosts)
        for host in self._hosts[site]:
            self._sites[host].add(site)
        return sum(
            visited == site or not set(there).isdisjoint(self._hosts[site])
            for visited, there in self._visits.items()
        )

    def drop(self, site: str) -> None:
        """Remove a site; its running visit may still end."""
        for host in self._hosts.pop(site, ()):
            self._sites[host].discard(site)
            if not self._sites[host]:
                del self._sites[host]

    def begin(self, site: str) -> set[str]:
        """Begin a visit; return the sites that it blocks, the site itself included."""
        if site in self._visits:
            raise ValueError(f"{site} is being visited already")
        self._visits[site] = self._hosts[site]
        return self._near(site)

    def end(self, site: str) -> set[str]:
        """End a visit; return the sites that it blocked."""
        near = self._near(site)
        del self._visits[site]
        return near

    def _near(self, site: str) -> set[str]:
        near = set().union(*(self._sites.get(host, ()) for host in self._visits[site]))
        return near | ({site} & self._hosts.keys())


@dataclass(slots=True)
class SitePlaces:
    """Maps sites to rows of the board's arrays.

    Rows of dropped sites are reused.
    """

    rows: SiteRows = field(default_factory=lambda: SiteRows.empty(64))
    _places: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    """By place."""
    _free: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, site: str) -> bool:
        return site in self._places

    def __getitem__(self, site: str) -> int:
        return self._places[site]

    def name(self, place: int) -> str:
        return self._names[place]

    def at_risk(self, now: float) -> list[tuple[str, float]]:
        """Sites whose promise is urgent, with the seconds until it is broken, least first."""
        rows = self.rows
        left = rows.oldest + rows.promised - now
        pressing = np.flatnonzero(rows.there & (rows.presses_at() <= now))
        order = pressing[np.argsort(left[pressing], kind="stable")]
        return [(self._names[place], float(left[place])) for place in order.tolist()]

    def row(self, site: str) -> int:
        """The row of a site; a new one if it has none."""
        if site in self._places:
            return self._places[site]
        if self._free:
            place = self._free.pop()
            self._names[place] = site
        else:
            place = len(self._names)
            self._names.append(site)
            if place == len(self.rows):
                self.rows = self.rows.doubled()
        self._places[site] = place
        return place

    def drop(self, site: str) -> None:
        place = self._places.pop(site)
        self.rows.clear(place)
        self._free.append(place)
