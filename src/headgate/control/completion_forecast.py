"""Predicts when the sites of a crawl will end, from what is known of their sizes and servers.

Each end has an earliest, a likely and a latest time: the outlook (`scheduling.completion_times`)
for sizes and speeds in the best, the likely and the worst case. With a history the three lie close
together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from msgspec.structs import replace

from headgate.control.forecast import Forecast, Source
from headgate.model.budget import Budget
from headgate.model.plan import Foreseen, Guess, Plan, PlannedSite, RateSegment, Verdict
from headgate.model.site import OnDeadline, Site, SiteStatistics
from headgate.model.units import Bytes, BytesPerSecond, SizeRange
from headgate.scheduling.capacity import Capacity, budget_capacity, capacity_for
from headgate.scheduling.completion_times import Expected, Stretch, outlook

__all__ = ["plan_ahead", "plan_the_rest", "with_guesses", "with_what_is_left"]

_WEEKS = 104
"""How far ahead a timetable is unrolled."""
_WORTH_PLANNING = 0.05
"""A second plan is made if a cap differs by more than this."""
_AROUND = 900.0
"""Seconds over which a server's speed is averaged when the outlook asks."""


class _Case(IntEnum):
    """How well things go."""

    BEST = 1
    LIKELY = 0
    WORST = -1


def plan_ahead(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    quota_used: float = 0.0,
) -> Plan:
    """A plan by the forecasts, with the speed of each server at the hours it will be needed.

    The planner takes constant caps, so a first plan tells when each site has its turn; if servers
    have another speed then, a second plan is made with that. If something is estimated, the
    deadlines are also checked with all estimates at their best and at their worst.
    """
    from headgate.scheduling.planner import plan  # here: it brings NumPy

    foresight = Foresight(forecasts, budget, start, quota_used)
    caps = {site.name: forecasts[site.name].cap for site in sites}
    made = plan(_as_foreseen(sites, forecasts, caps), budget, start=start, quota_used=quota_used)
    then = foresight.caps(made, sites)
    if any(_differ(caps[name], cap) for name, cap in then.items()):
        foreseen = _as_foreseen(sites, forecasts, then)
        made = plan(foreseen, budget, start=start, quota_used=quota_used)
    return foresight.with_verdicts(foresight.with_ends(with_guesses(made, forecasts), sites), sites)


def with_guesses(plan: Plan, forecasts: Mapping[str, Forecast]) -> Plan:
    """The plan, with its estimates marked."""
    return replace(
        plan,
        sites=tuple(
            replace(site, guess=_guess(site, forecasts[site.name]))
            if site.name in forecasts
            else site
            for site in plan.sites
        ),
    )


def _guess(site: PlannedSite, known: Forecast) -> Guess | None:
    told = known.source is Source.USER
    by_server = site.max_rate is not None and site.max_rate != known.most
    if told and not by_server:
        return None
    return Guess("" if told else known.source.value, known.bytes_range, by_server)


def _as_foreseen(
    sites: Sequence[Site],
    forecasts: Mapping[str, Forecast],
    caps: Mapping[str, float | None],
    case: _Case = _Case.LIKELY,
) -> list[Site]:
    return [
        replace(
            site,
            expect=Bytes(_size(forecasts[site.name], case)),
            max_rate=None if cap is None else BytesPerSecond(cap),
            statistics=SiteStatistics(),
        )
        for site in sites
        for cap in (caps[site.name],)
    ]


def _differ(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) > _WORTH_PLANNING * one


@dataclass(frozen=True, slots=True)
class Foresight:
    """The predictions for one crawl."""

    forecasts: Mapping[str, Forecast]
    budget: Budget
    start: datetime
    quota_used: float = 0.0

    @property
    def began(self) -> float:
        """The start of the run, seconds since 1970."""
        return self.start.timestamp()

    def with_ends(self, plan: Plan, sites: Sequence[Site]) -> Plan:
        """The plan, with the predicted end of each site."""
        in_order = _in_order(plan, sites)
        best, likely, worst = (self._outlook(in_order, case) for case in _Case)

        def foreseen(name: str) -> Foreseen:
            ends = best[name].end, likely[name].end, worst[name].end
            return Foreseen(min(ends), ends[1], max(ends))

        named = tuple(replace(site, foreseen=foreseen(site.name)) for site in plan.sites)
        return replace(plan, sites=named)

    def with_verdicts(self, plan: Plan, sites: Sequence[Site]) -> Plan:
        """The plan, with the verdicts for the best and the worst case of its estimates."""
        if not plan.guessed:
            return plan
        at_best, at_worst = (self._verdict(plan, sites, case) for case in (_Case.BEST, _Case.WORST))
        return replace(plan, at_best=at_best, at_worst=at_worst)

    def caps(
        self, plan: Plan, sites: Sequence[Site], case: _Case = _Case.LIKELY
    ) -> dict[str, float | None]:
        """The mean speed of each server while its site is crawled by this plan."""
        stretches = self._outlook(_in_order(plan, sites), case)
        return {
            name: self._cap_between(self.forecasts[name], stretch, case)
            for name, stretch in stretches.items()
        }

    def _verdict(self, plan: Plan, sites: Sequence[Site], case: _Case) -> Verdict:
        from headgate.scheduling.planner import verdict_for

        caps = self.caps(plan, sites, case)
        foreseen = _as_foreseen(sites, self.forecasts, caps, case)
        return verdict_for(foreseen, self.budget, start=self.start, quota_used=self.quota_used)

    def _cap_between(self, known: Forecast, stretch: Stretch, case: _Case) -> float | None:
        if known.cap is None or (known.server is None and known.cap == known.most):
            return known.cap  # nothing is known of this server by the hour
        start, end = self.began + stretch.start, self.began + stretch.end
        return known.cap_between(self.budget.calendar, start, end, case)

    def _outlook(self, sites: Sequence[Site], case: _Case) -> dict[str, Stretch]:
        expected = {}
        for site in sites:
            known = self.forecasts[site.name]
            deadline = math.inf if site.deadline is None else float(site.deadline)
            expected[site.name] = Expected(_size(known, case), self._cap(known, case), deadline)
        ends = outlook(expected, self._capacity(expected), self.budget.crawlers)
        return {site.name: _stopped(site, ends[site.name]) for site in sites}

    def _capacity(self, expected: Mapping[str, Expected]) -> Capacity:
        """The budget within its quota. No more of it can be used than the servers deliver at their
        best hours."""
        if self.budget.quota is None:
            return budget_capacity(self.budget, self.start, _WEEKS)
        hours = [hour * 3600.0 for hour in range(24)]
        best = sorted((max(map(site.cap, hours)) for site in expected.values()), reverse=True)
        return capacity_for(
            self.budget,
            self.start,
            _WEEKS,
            work=sum(site.work for site in expected.values()),
            usable=sum(best[: self.budget.crawlers]),
            quota_used=self.quota_used,
        )

    def _cap(self, known: Forecast, case: _Case) -> Callable[[float], float]:
        def by_the_hour(seconds: float) -> float:
            start = self.began + seconds
            return known.cap_between(self.budget.calendar, start, start + _AROUND, case) or math.inf

        return by_the_hour


def _stopped(site: Site, stretch: Stretch) -> Stretch:
    """With the end moved to the deadline if the site stops there."""
    if site.on_deadline is OnDeadline.GO_ON or site.deadline is None:
        return stretch
    end = min(stretch.end, max(float(site.deadline), 0.0))
    return Stretch(min(stretch.start, end), end)


def _in_order(plan: Plan, sites: Sequence[Site]) -> list[Site]:
    starts = {planned.name: (planned.start, planned.end) for planned in plan.sites}
    return sorted(sites, key=lambda site: starts[site.name])


def _size(known: Forecast, case: _Case) -> float:
    if known.bytes_range is None or case is _Case.LIKELY:
        return known.bytes
    return known.bytes_range[0 if case is _Case.BEST else 1]


# The plan of a running crawl, made while it runs.
#
# If all sites are known it is made for the start of the run. If some had to be looked at first, it
# is made for what is left after the looks; its times count from the start of the run all the same.


def with_what_is_left(
    forecasts: Mapping[str, Forecast], left: Mapping[str, SizeRange], caps: Mapping[str, float]
) -> dict[str, Forecast]:
    """The forecasts of unfinished sites, updated by what their crawl has shown so far."""
    return {
        name: replace(
            forecasts[name],
            bytes=size.likely,
            bytes_range=(size.low, size.high) if size.high > size.low else None,
            source=_better(forecasts[name].source),
            cap=caps[name] if caps[name] < math.inf else forecasts[name].cap,
        )
        for name, size in left.items()
    }


def plan_the_rest(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    seconds: float,
    quota_used: float = 0.0,
) -> Plan:
    """A plan for those ``sites`` that have forecasts, from ``start`` on, ``seconds`` into the run;
    its times count from the start of the run."""
    unfinished = [site.as_of(seconds) for site in sites if site.name in forecasts]
    made = plan_ahead(unfinished, budget, forecasts, start, quota_used)
    return made if seconds <= 0 else _later(made, seconds)


def _better(source: Source) -> Source:
    return Source.SCOUT if source is Source.GUESS else source


def _later(plan: Plan, seconds: float) -> Plan:
    first, *others = plan.budget_pieces
    pieces = (first, *(replace(piece, start=piece.start + seconds) for piece in others))
    sites = tuple(_site_later(site, seconds) for site in plan.sites)
    return replace(plan, budget_pieces=pieces, sites=sites)


def _site_later(site: PlannedSite, seconds: float) -> PlannedSite:
    foreseen = site.foreseen
    return replace(
        site,
        deadline=None if site.deadline is None else site.deadline + seconds,
        start=site.start + seconds,
        end=site.end + seconds,
        segments=tuple(
            RateSegment(part.start + seconds, part.end + seconds, part.rate)
            for part in site.segments
        ),
        foreseen=foreseen
        and Foreseen(
            foreseen.earliest + seconds, foreseen.likely + seconds, foreseen.latest + seconds
        ),
    )
