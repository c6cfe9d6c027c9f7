"""The unfinished sites as the manager sees them: what is known of each, and its place in the plan.

A site is either planned for (in the planner's state) or unknown: then it waits for its first look,
or is being looked at (`FirstLooks`), and joins the plan when that is over.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from headgate.control.forecast import Forecast, Source
from headgate.control.rate_setter import RateSetter
from headgate.control.site_estimate import SiteWatch
from headgate.control.size_estimate import SizePrior
from headgate.crawling.progress import Progress
from headgate.model.units import SizeRange
from headgate.scheduling.replan import CrawlState, SiteArrived, SiteEnded, Started, apply_event

__all__ = ["ActiveSites", "PolicyPort"]

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.9, 3.0
_AT_ONCE = 2
_PART_OF_TIME = 0.2
"""Of the time to the first deadline of a site that waits for its look."""
_LEAST_SECONDS = 1.0


class _Unknown(msgspec.Struct, frozen=True):
    site: str
    deadline: float
    stops: bool
    latest: float
    """When looks must be over for the sake of this site's deadline."""


class FirstLooks(msgspec.Struct):
    """First looks at sites of unknown size or speed: early and short, before they join the plan.

    A look is the beginning of the site's own crawl: its pages are stored like all others, so
    nothing is fetched twice. It ends after `SiteWatch.look_bytes`, but not within the first second,
    and after `_LONGEST_SECONDS` in any case. By then links and sizes say more than any guess, and a
    server that does not use its share of the line has shown how slow it is. To make that share
    large enough, only two sites are looked at at once, in order of deadline; sites that stop at
    their deadline come last, since they cannot be late. All looks together take at most a fifth of
    the time to the first deadline that depends on them. Meanwhile the other sites share the rest of
    the line, the most urgent first.

    Every unknown site is in ``_waiting`` or in ``under_way`` until its look is over.
    """

    _waiting: list[_Unknown] = msgspec.field(default_factory=list)
    """In order of deadline, after all others those that stop at theirs."""
    under_way: dict[str, float] = msgspec.field(default_factory=dict)
    """When each began."""

    @property
    def over(self) -> bool:
        return not self._waiting and not self.under_way

    def want(self, site: str, arrived: float, deadline: float, *, stops: bool) -> None:
        """Add an unknown site; ``stops``: it is stopped at its deadline."""
        latest = arrived + max(_PART_OF_TIME * (deadline - arrived), _LEAST_SECONDS)
        unknown = _Unknown(site, deadline, stops, latest)
        insort(self._waiting, unknown, key=lambda other: (other.stops, other.deadline))

    def begin(self, crawlers: int, now: float) -> None:
        """Start the next looks, as far as there are free crawlers."""
        at_once = min(crawlers, _AT_ONCE)
        while self._waiting and len(self.under_way) < at_once and self._time_left(now):
            self.under_way[self._waiting.pop(0).site] = now

    def observe(self, report: Progress, now: float, enough: float) -> bool:
        """Whether a site's look is over, after ``enough`` bytes or some seconds."""
        began = self.under_way.get(report.site)
        if began is None:
            return False
        seconds = now - began
        if seconds >= _LONGEST_SECONDS:
            return True
        return report.arrived_bytes >= enough and seconds >= _SHORTEST_SECONDS

    def end(self, site: str) -> None:
        """The look is over, or the site ended without one."""
        if self.under_way.pop(site, None) is None:
            self._waiting = [unknown for unknown in self._waiting if unknown.site != site]

    def skip(self) -> list[str]:
        """Give up the remaining looks, for lack of time; returns their sites."""
        skipped, self._waiting = [unknown.site for unknown in self._waiting], []
        return skipped

    def _time_left(self, now: float) -> bool:
        return now <= min(unknown.latest for unknown in self._waiting)


def beside_looks(
    rates: Mapping[str, float], idle: Collection[str], total: float
) -> dict[str, float]:
    """The rates of sites, in order of priority, cut to the ``total`` that looks leave them. Idle
    sites request nothing at the moment, so theirs do not count.

    >>> beside_looks({"slow": 20.0, "wakes": 50.0, "fast": 80.0}, ["wakes"], 50.0)
    {'slow': 20.0, 'wakes': 30.0, 'fast': 30.0}
    """
    kept = {}
    for site, rate in rates.items():
        kept[site] = min(rate, total)
        total -= 0.0 if site in idle else kept[site]
    return kept


# The sites in the plan.


_LOOKS_PART = 0.5
"""Part of the budget for first looks while known sites are crawled."""
_LAST_PLACE = 1e-6
"""Part of the budget for a running site that was given nothing: next to nothing, but unlike a
parked site it may use what no other site wants."""


class PolicyPort(Protocol):
    """What sets the rates instead of Headgate's own policy: one of the user's choice
    (`headgate.scheduling.policy_follower`), or one queue over all sites
    (`headgate.engine.chosen_policy`)."""

    @property
    def name(self) -> str: ...

    @property
    def fault(self) -> str:
        """Why it no longer sets rates; empty: it does."""
        ...

    @property
    def by_page(self) -> bool:
        """Whether pages wait for those of other sites, so that a site's speed says nothing of its
        server."""
        ...

    def rates(self, state: CrawlState) -> dict[str, float] | None: ...


class ActiveSites(msgspec.Struct):
    """Every site in ``watched`` is either in the planner's state or in ``looks``."""

    state: CrawlState
    watched: dict[str, SiteWatch]
    setting: RateSetter
    looks: FirstLooks = msgspec.field(default_factory=FirstLooks)
    following: PolicyPort | None = None
    """Sets the rates until it fails; there are no first looks then."""
    size_prior: SizePrior = msgspec.field(default_factory=SizePrior)
    _sharing: int = 1
    """Number of sites that can be crawled at once."""
    _last: frozenset[str] = frozenset()
    """Running sites that were given nothing."""

    @property
    def left(self) -> Mapping[str, SizeRange]:
        """Bytes still to come of each site; may be called while a decision is made."""
        return {name: watched.left for name, watched in list(self.watched.items())}

    @property
    def caps(self) -> Mapping[str, float]:
        """Estimated speed of each site's server, in bytes per second."""
        return {name: watched.cap for name, watched in list(self.watched.items())}

    @property
    def loans(self) -> Mapping[str, float]:
        """What sites have beyond the planner's rates, from what others leave unused."""
        return self.setting.loans

    @property
    def ends(self) -> Mapping[str, float]:
        """Predicted ends of sites by the last decision, as far as known."""
        return self.setting.ends

    def bytes_left(self, site: str) -> float:
        """Likely bytes still to come of a site; 0 for one that has ended."""
        watched = self.watched.get(site)
        return 0.0 if watched is None else watched.left.likely

    def begin(self, forecasts: Mapping[str, Forecast], *, limited: bool) -> None:
        """Give the watched sites their places, in the order of the plan."""
        self._sharing = max(min(self.state.slots, len(self.watched)), 1)
        looks = limited and _any_deadline(self.watched) and self.following is None
        for name, watched in self.watched.items():
            if looks and _is_unknown(watched, forecasts[name]):
                self.looks.want(name, 0.0, watched.deadline, stops=watched.stops)
            else:
                self.state.sites[name] = watched.state(self._equal_share)
                self.state.waiting.append(name)

    def arrive(self, watched: SiteWatch, known: Forecast, now: float, *, limited: bool) -> None:
        """Add a site. It is looked at first if the budget is limited and deadlines may depend on
        what is unknown of it."""
        name = watched.site.name
        assert name not in self.watched, f"{name} has a task"
        self.watched[name] = watched
        self._sharing = max(self._sharing, min(self.state.slots, len(self.watched)))
        if limited and _any_deadline(self.watched) and _is_unknown(watched, known):
            self.looks.want(name, now, watched.deadline, stops=watched.stops)
        else:
            self._join(name, now)

    def leave(self, name: str, now: float, whole: float | None) -> SiteEnded | Started:
        """Remove a site that has ended, with ``whole`` bytes unless it was stopped early. Returns
        the event for the planner."""
        self.watched.pop(name)
        if whole is not None:
            self.size_prior.record(name, whole)
        if name in self.state.sites:
            return SiteEnded(now, name)
        self.looks.end(name)
        return Started(now)

    def follow(self, order: Sequence[str]) -> None:
        """Serve sites in this order from now on."""
        self.state.follow(order)

    def observe(
        self,
        reports: Sequence[Progress],
        rates: Mapping[str, float],
        part: float,
        now: float,
        *,
        held_back: bool,
    ) -> None:
        """Update the estimates of sites from their progress with these ``rates``, of which they can
        get this ``part``. ``held_back``: servers cannot be measured at the moment."""
        own = _own(rates, self._last)
        held_back = held_back or (self.following is not None and self.following.by_page)
        for report in reports:
            watched = self.watched.get(report.site)
            if watched is None or report.site not in rates:
                continue
            watched.observe(report)
            if watched.size.shown is not None:
                self.size_prior.record(report.site, watched.size.shown)
            watched.grants.observe(
                report,
                own[report.site] * part,
                now,
                first_look=report.site in self.looks.under_way,
                held_back=held_back,
                lent=report.site in self.loans,
            )
            if self.looks.observe(report, now, watched.look_bytes(report)):
                watched.speed.conclude()
                self._join(report.site, now)
        apply_event(self.state, Started(now))
        if self.size_prior.news():
            for name, watched in self.watched.items():
                if watched.suppose(self.size_prior) and name in self.state.sites:
                    watched.refresh(self.state.sites[name], self._equal_share)
        self.setting.refresh(reports, own, self._equal_share)

    def record_grants(self, rates: Mapping[str, float], part: float, now: float) -> None:
        """The rates that held until now are about to change; count what they granted."""
        for site, rate in _own(rates, self._last).items():
            self.watched[site].grants.record(rate * part, now)

    def rates(self, budget: float, now: float, *, weigh: bool) -> dict[str, float]:
        """The rates of the sites that run from now on, under a limited budget."""
        if self.following is not None:
            followed = self.following.rates(self.state)
            if followed is not None:
                self._last = frozenset()
                return followed
        rates = self.setting.rates(budget, weigh=weigh)
        if self.looks.over:
            rates = self.setting.with_loans(rates, budget)
        else:
            rates = self._with_looks(rates, budget, now)
        self._last = frozenset(site for site, rate in rates.items() if rate <= 0)
        return _with_last_places(rates, self._last, budget)

    def _with_looks(self, rates: dict[str, float], budget: float, now: float) -> dict[str, float]:
        """First looks share a part of the budget while other sites run, else all of it."""
        self.setting.lend_nothing()
        busy = sum(rate > 0 and not self.state.sites[site].idle for site, rate in rates.items())
        self.looks.begin(max(self.state.slots - busy, 1), now)
        if not self.looks.under_way:
            for name in self.looks.skip():
                self._join(name, now)
            return rates
        part = _LOOKS_PART if busy else 1.0
        each = part * budget / len(self.looks.under_way)
        idle = [site for site in rates if self.state.sites[site].idle]
        shared = beside_looks(rates, idle, (1 - part) * budget)
        looks = {site: min(each, self.watched[site].speed.most) for site in self.looks.under_way}
        return shared | looks

    def _join(self, name: str, now: float) -> None:
        """Add a site to the plan."""
        self.looks.end(name)
        state = self.watched[name].state(self._equal_share)
        apply_event(self.state, SiteArrived(now, name, state))

    @property
    def _equal_share(self) -> float:
        return self.state.capacity.peak / self._sharing


def _with_last_places(
    rates: Mapping[str, float], last: Collection[str], budget: float
) -> dict[str, float]:
    """Rates with the same sum in which the sites in ``last`` have next to nothing."""
    others = 1.0 - _LAST_PLACE * len(last)
    placed = {site: rate * others for site, rate in rates.items()}
    return placed | dict.fromkeys(last, _LAST_PLACE * budget)


def _own(rates: Mapping[str, float], last: Collection[str]) -> dict[str, float]:
    """The rates by which servers are judged: 0 for the sites in ``last``."""
    return {site: 0.0 if site in last else rate for site, rate in rates.items()}


def _any_deadline(watched: Mapping[str, SiteWatch]) -> bool:
    return any(math.isfinite(site.deadline) for site in watched.values())


def _is_unknown(watched: SiteWatch, known: Forecast) -> bool:
    """Whether a deadline may depend on what is unknown of a site."""
    return known.source is Source.GUESS or (known.cap is None and math.isfinite(watched.deadline))
