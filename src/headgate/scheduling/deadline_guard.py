"""Guards deadlines: rates that follow the order as far as no later site suffers.

Serving sites in order of priority at the full rate is best where no cap binds. Where one does, a
site behind a slow server must begin in time, however urgent the others are. So the order is
simulated first, with a reserve: sizes as large as they may be, deadlines a little earlier. If every
site is on time even so, the order stands. If not, the reserve is reduced step by step:

1. The order keeps all deadlines: it stands.
2. Water-filling (water_filling.py) can keep them: the sites with the least laxity first, as far as
   it stays so until rates are set anew. A mixture of both kinds of rates is feasible from some
   point on, since the schedules that meet all deadlines are a convex set. (Water-filling alone
   spreads everything evenly up to the deadlines, where the first mishap is a miss.)

The part of the reserve is the same for all sites. Where none is in danger, the room that it leaves
goes to those of which little is known.

Sites that will probably be late are assumed to be smaller, as far as needed for all to be on time:
they are given up only if not even their lower bound would help. Then their deadlines are moved
later by the least part of what serving in order would miss them by, the same part for all, as in
the plan, and guarded like the others. Sites that stop at their deadlines get what the order would
leave them.

Where two sites or more will be late, what they share makes each of them later. If the crawl itself
has shown roughly how large they are, the order stands, which has the least total lateness
(order_repair.py). If their sizes are only stated in the site file, all of them are kept going as
above, which shows whether that is true.

Such rates hold for a while if they keep deadlines within reach, since changes cost. If a site is in
danger they do not: its server may be faster than estimated, and only a higher rate shows that.

Cost: a simulation O(n^2), and some tens of water-fillings of O(n * levels) if it shows danger.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import structs

from headgate.scheduling.arrays import BoolArray, FloatArray, IntArray
from headgate.scheduling.capacity import NOTHING_LEFT
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.reserve import NO_RESERVE, WHOLE_RESERVE, Reserve
from headgate.scheduling.water_filling import deadlines_can_be_met, relaxed, water_filling_rates

__all__ = ["guarded_rates"]

_PARTS = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.0)
"""Fine steps: a site that may be a hundred times its likely size is served early only if part of
that is reserved."""
_RESERVES = (
    WHOLE_RESERVE,
    *(Reserve(part, part, 1.0) for part in _PARTS),
    Reserve(0.0, 0.0, 0.75),
    Reserve(0.0, 0.0, 0.5),
    Reserve(0.0, 0.0, 0.25),
    NO_RESERVE,
)
"""Serving a slow server early costs the others only their order, so it is given up last."""
_AT_BEST = Reserve(-1.0, 0.0, 1.0)
_BUSY_PART = 0.85
"""Part of the time to its deadline in which a site that may be late is served."""
_CERTAIN_PART = 0.8
"""As a part of the likely size: a site that is no smaller at best has a stated size."""
_VAGUE = 1.5
"""Beyond so many times the assumed size, a site's size counts as vague."""
_MOST_VAGUE = 3
"""Most vague sites that get spare room: each costs a few water-fillings."""
_HALVINGS = 6
_MOST_SITES_WEIGHED = 30
"""Easing deadlines, or dividing spare room, looks ten times at all sites."""

_WithReserve = Callable[[Reserve], Problem]
"""The sites that run, in order of priority, with a reserve."""


def guarded_rates(
    problem: _WithReserve, look_seconds: float, held: FloatArray | None = None
) -> FloatArray | None:
    """Rates that hold until the next event or for ``look_seconds``; None: serving in order is best.
    ``held``: the current rates, which stay if they keep deadlines within reach for as long, with
    the largest possible reserve."""
    in_danger = _in_danger(problem)
    late, eased = in_danger, None
    if in_danger.any():
        if in_danger.sum() > 1 and not (in_danger & _taken_on_trust(problem)).any():
            return None
        held = None
        if deadlines_can_be_met(_at_best(problem, _RESERVES[-1], in_danger)):
            late = np.zeros_like(in_danger)
        else:
            eased = _eased(problem(NO_RESERVE))

    def with_reserve(reserve: Reserve) -> Problem:
        asked = _at_best(problem, reserve, in_danger)
        return asked if eased is None else _with_ends(asked, late, eased.deadlines)

    asked = _first_that_can_be_met(with_reserve)
    if asked is not None:
        if not in_danger.any():
            asked = _with_more_reserve(asked, problem(WHOLE_RESERVE))
        if held is not None and _still_within_reach(asked, held, look_seconds):
            return held
        if not _order_keeps(asked, problem(NO_RESERVE), look_seconds):
            rates = _most_urgent_first(asked, problem(WHOLE_RESERVE), look_seconds)
            return None if rates is None else _filled(rates, problem(NO_RESERVE))
    return None if eased is None else water_filling_rates(eased, np.arange(len(eased)))


def _first_that_can_be_met(problem: _WithReserve) -> Problem | None:
    """With the largest reserve that is possible, by bisection: less never makes it harder. None:
    not possible even without a reserve."""
    low, high = 0, len(_RESERVES)
    found = None
    while low < high:
        middle = (low + high) // 2
        asked = problem(_RESERVES[middle])
        if deadlines_can_be_met(asked):
            high, found = middle, asked
        else:
            low = middle + 1
    return found


def _with_more_reserve(asked: Problem, at_worst: Problem) -> Problem:
    """If the same part for all leaves room, sites of vague size are assumed to be larger still: one
    whose every page leads to another cannot catch up later at any rate. Those most urgent in the
    worst case come first."""
    if len(asked) > _MOST_SITES_WEIGHED:
        return asked
    vague = (at_worst.work > _VAGUE * asked.work) & np.isfinite(asked.deadlines)
    urgent = [site for site in _by_laxity(at_worst).tolist() if vague[site]]
    for site in urgent[:_MOST_VAGUE]:
        asked = _extended(asked, at_worst, site)
    return asked


def _extended(asked: Problem, at_worst: Problem, site: int) -> Problem:
    def with_part(part: float) -> Problem:
        work = asked.work.copy()
        work[site] += part * (at_worst.work[site] - work[site])
        return structs.replace(asked, work=work)

    return with_part(_greatest(lambda part: deadlines_can_be_met(with_part(part))))


def _order_keeps(asked: Problem, likely: Problem, look_seconds: float) -> bool:
    """Whether serving in order meets all deadlines, also at its initial rates: a server may be
    faster than the reserve assumes, and take more from the others."""
    as_fast = structs.replace(asked, caps=np.maximum(asked.caps, likely.caps))
    if any(_in_order(servers).shortfall(servers).any() for servers in (asked, as_fast)):
        return False
    begun = _first_rates(likely, np.arange(len(likely)))
    return _still_within_reach(asked, begun, look_seconds)


def _in_danger(problem: _WithReserve) -> BoolArray:
    """Sites that will probably be late, whatever is done."""
    likely = problem(NO_RESERVE)
    if deadlines_can_be_met(problem(_RESERVES[-1])):
        return np.zeros(len(likely), dtype=np.bool_)
    return _in_order(likely).shortfall(likely) > 0


def _taken_on_trust(problem: _WithReserve) -> BoolArray:
    """Sites whose size is stated and was not yet observed, so it has no range."""
    best, likely = problem(_AT_BEST), problem(NO_RESERVE)
    return best.work >= _CERTAIN_PART * likely.work


def _at_best(problem: _WithReserve, reserve: Reserve, sites: BoolArray) -> Problem:
    """With these sites as large as possible for all to be on time, between their lower bound and
    their likely size. They are served from now on, so that their size is known early."""
    asked = problem(reserve)
    if not sites.any():
        return asked
    best, likely = problem(_AT_BEST), problem(NO_RESERVE)

    def of_size(part: float) -> Problem:
        work = best.work + part * (likely.work - best.work)
        ahead = np.maximum(asked.deadlines, NOTHING_LEFT)
        steady = np.minimum(best.caps, work / (_BUSY_PART * ahead))
        return structs.replace(
            asked,
            work=np.where(sites, work, asked.work),
            caps=np.where(sites, steady, asked.caps),
        )

    if (best.work >= likely.work)[sites].all():
        return of_size(1.0)  # as large as is certain
    return of_size(_greatest(lambda part: deadlines_can_be_met(of_size(part))))


def _with_ends(problem: Problem, sites: BoolArray, ends: FloatArray) -> Problem:
    """With these ends as the deadlines of these sites."""
    return structs.replace(problem, deadlines=np.where(sites, ends, problem.deadlines))


def _rates(problem: Problem) -> FloatArray | None:
    return water_filling_rates(problem, _by_laxity(problem))


def _by_laxity(problem: Problem) -> IntArray:
    """Ordered by laxity: first those that could not catch up later, because of their servers."""
    speeds = np.minimum(problem.caps, problem.capacity.peak)
    return np.argsort(problem.deadlines - problem.work / speeds, kind="stable")


def _most_urgent_first(
    problem: Problem, at_worst: Problem, look_seconds: float
) -> FloatArray | None:
    """Rates as near as possible to those by laxity that keep all deadlines within reach. Urgency is
    that of the worst case, so that sizes become known in time."""
    safe = _rates(problem)
    if safe is None:
        return None
    urgent = _first_rates(at_worst, _by_laxity(at_worst))

    def within_reach(part: float) -> bool:
        return _still_within_reach(problem, safe + part * (urgent - safe), look_seconds)

    part = 1.0 if within_reach(1.0) else _greatest(within_reach)
    return safe + part * (urgent - safe)


def _filled(rates: FloatArray, likely: Problem) -> FloatArray:
    """With the rest of the budget given to sites that can use it, most urgent first."""
    rest = likely.capacity.rate_at(0.0) - float(rates.sum())
    filled = rates.copy()
    for site in _by_laxity(likely).tolist():
        more = min(rest, float(likely.caps[site] - rates[site]))
        if more > 0:
            filled[site] += more
            rest -= more
    return filled


def _first_rates(problem: Problem, order: IntArray) -> FloatArray:
    """The initial rates of serving in an order."""
    budget = problem.capacity.rate_at(0.0)
    wanted = np.minimum(problem.caps, budget)[order]
    before = np.concatenate(([0.0], np.cumsum(wanted)[:-1]))
    rates = np.zeros(len(problem))
    rates[order] = np.minimum(wanted, np.maximum(budget - before, 0.0))
    return rates


def _still_within_reach(problem: Problem, rates: FloatArray, look_seconds: float) -> bool:
    return deadlines_can_be_met(_after(problem, rates, look_seconds))


def _after(problem: Problem, rates: FloatArray, look_seconds: float) -> Problem:
    """The problem after these rates have held until the next event."""
    ends = np.divide(problem.work, rates, out=np.full(len(rates), np.inf), where=rates > 0)
    first = float(problem.deadlines.min(initial=np.inf, where=problem.deadlines > 0))
    seconds = min(look_seconds, first, float(ends.min()), problem.capacity.next_turn(0.0))
    left = np.maximum(problem.work - rates * seconds, NOTHING_LEFT)
    deadlines = np.where(left > NOTHING_LEFT, problem.deadlines - seconds, np.inf)
    later = problem.capacity.from_time(seconds)
    return structs.replace(problem, work=left, deadlines=deadlines, capacity=later)


def _eased(problem: Problem) -> Problem | None:
    """With deadlines moved later by the least part of what serving in order would miss them by."""
    if len(problem) > _MOST_SITES_WEIGHED or not problem.capped:
        return None
    order = _in_order(problem)
    fetched = np.maximum(problem.work - order.left(problem), NOTHING_LEFT)
    due = np.where(fetched > NOTHING_LEFT, problem.deadlines, np.inf)
    within = structs.replace(problem, work=fetched, deadlines=due)
    return relaxed(within, order.lateness(problem))


def _in_order(problem: Problem) -> Schedule:
    return event_schedule(problem, range(len(problem)))


def _greatest(holds: Callable[[float], bool]) -> float:
    """The greatest part for which it holds; it does for 0."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
