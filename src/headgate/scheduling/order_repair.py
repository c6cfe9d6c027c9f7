"""Improves the order while the crawl runs, if a deadline is in danger.

Sizes and speeds are never quite as planned, so a plan without slack misses deadlines by a little.
The current order is simulated from here (event_schedule.py). If sites would end after their
deadlines, and later than accepted before, the search of the plan (order_search.py) looks for a
better order, in a few hundredths of a second. While all deadlines can be met it looks for one that
keeps the reserve, too (`CrawlState.problem`). Lateness that it cannot avoid is accepted, so that
the search runs again only when things get worse, or when a simple order has become better. A site
that runs may be parked for a more urgent one: it keeps what it has and goes on when its turn has
come again.

The least total lateness gives up some sites for others, which is wrong if sites turn out smaller
than likely: in order of deadlines all would have been on time. So no site is given up as long as
some order meets all deadlines with sites halfway between their likely size and their lower bound.

Where every site has a crawler and rates can keep all deadlines (deadline_guard.py), the order is
left alone: rates keep a reserve better, and no site has to be parked.

Only the sites that run and the next some (`replan.sites_ahead`) are looked at: what comes later can
be mended later. Cost: O(sites ahead) when all is well, O(`_STEPS`) when not.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

import numpy as np

from headgate.scheduling.arrays import FloatArray, IntArray
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.order_search import improve_order
from headgate.scheduling.problem import Problem
from headgate.scheduling.replan import CrawlState, OpenSite, deadlines_ahead, sites_ahead
from headgate.scheduling.reserve import WHOLE_RESERVE, Reserve
from headgate.scheduling.tardiness import simple_orders
from headgate.scheduling.water_filling import deadlines_can_be_met

__all__ = ["mend"]

_STEPS = 25_000
"""Rates set in simulations: a few hundredths of a second."""
_CERTAIN_PART = 0.8
"""As a part of the likely size: a site that is no smaller at best has a known size."""
_HOPEFUL = Reserve(-0.5, 0.0, 0.0)
_WORTH_SECONDS = 0.1
_RETHINK_SECONDS = 1.0
"""Change of accepted lateness that is worth a new order: it parks other sites."""
_WORTH_PART = 0.002
"""As a part of the time that all sites ahead take: less lateness is not worth a search."""


def mend(state: CrawlState) -> None:
    """Put the sites in a better order, if one is needed and found."""
    near = sites_ahead(state)
    if len(near) < 2 or not deadlines_ahead(state):
        return
    busy = sum(not state.sites[name].idle for name in state.running)
    problem = state.problem(near)
    if state.can_guard and deadlines_can_be_met(problem):
        return
    least_seconds = float(problem.capacity.time_of(problem.work.sum()))
    worth = max(_WORTH_SECONDS, _WORTH_PART * least_seconds)
    standing = np.arange(len(near))
    missed = _shortfall(problem, standing)
    aim, late, simple = problem, missed, standing
    if missed.sum() <= worth:
        aim = state.problem(near, WHOLE_RESERVE)
        late = _shortfall(aim, standing)
    elif state.may_park and any(_is_vague(state.sites[name]) for name in near):
        aim = state.problem(near, _HOPEFUL)
        late, simple = _shortfall(aim, standing), _simplest(aim)
    conceded = np.array([state.sites[name].conceded for name in near])
    worse = np.maximum(late - conceded, 0.0).sum() > worth
    if not worse and late.sum() - _shortfall(aim, simple).sum() <= max(worth, _RETHINK_SECONDS):
        return
    searched = improve_order(
        aim,
        standing,
        np.random.default_rng(0),
        least_makespan=least_seconds,
        least_total_time=least_seconds,
        steps=_STEPS,
        started=0 if state.may_park else busy,
    )
    found = min(searched, simple, key=lambda order: float(_shortfall(aim, order).sum()))
    late_then = _shortfall(aim, found)
    gained = late.sum() - late_then.sum()
    # A reserve for many is not worth one missed deadline.
    costs = missed.sum() <= worth and _shortfall(problem, found).sum() > missed.sum()
    if gained >= worth and not costs:
        late = late_then
        _take_order(state, [near[place] for place in found], busy)
    for name, seconds in zip(near, late.tolist(), strict=True):
        state.sites[name].conceded = seconds


def _take_order(state: CrawlState, names: list[str], busy: int) -> None:
    """The first sites of the new order take over the crawlers."""
    later = list(islice(state.waiting, len(names) - busy, None))
    idle = [name for name in state.running if state.sites[name].idle]
    for name in names[busy:]:
        state.sites[name].rate = 0.0
    state.running = [*idle, *names[:busy]]
    state.waiting = deque([*names[busy:], *later])


def _is_vague(site: OpenSite) -> bool:
    """Whether its size was neither stated nor observed."""
    return site.least < _CERTAIN_PART * site.remaining


def _simplest(problem: Problem) -> IntArray:
    """The best of the simple orders: hundreds of sites have too many orders for a search of a few
    hundredths of a second."""
    return min(simple_orders(problem), key=lambda order: float(_shortfall(problem, order).sum()))


def _shortfall(problem: Problem, order: IntArray) -> FloatArray:
    return event_schedule(problem, order).shortfall(problem)
