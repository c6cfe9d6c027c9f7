"""Guarding deadlines: rates that serve in order as far as no later site suffers by it.

Serving sites in order of priority at the full rate is best where no cap binds. Where one does, a
site behind a slow server must begin in time, however urgent the others are. So the order is played
through first, with a reserve: sizes as large as they may be, deadlines a little earlier. If every
site is on time even so, the order stands. If not, less of the reserve is asked for, step by step:

1. The order keeps all deadlines: it stands.
2. Water-filling (water_filling.py) can keep them: the sites with the least laxity first, as far as
   it stays so until rates are set anew. A mixture of both kinds of rates is feasible from some
   point on, since the schedules that meet all deadlines are a convex set. (Water-filling alone
   spreads everything evenly up to the deadlines, where the first mishap is a miss.)

The part of the reserve is the same for all sites. Where none is in danger, the room that it leaves
goes to those of which little is known.

Sites that will be late by what is likely are taken to be smaller, as far as is needed for all to be
on time: they are given up only if not even the least that is thought of would help. Then their
deadlines are taken later by the least part of what serving in order would miss them by, the same
part for all, as the plan does, and guarded in the same way with all the others. Sites that stop at
theirs get what the order would leave them with.

Where two sites or more will be late, what they share makes each of them later. If the crawl itself
has shown how large they are, give or take, the order stands, which has the least lateness in all
(mending.py). Of a size that was told nothing was seen: there all of them are kept going as above,
and show whether it is true.

Rates that were set so stand for a while, if they keep deadlines within reach: changes cost. Where a
site is in danger they do not: its server may be faster than thought, and only a rate shows that.

Cost: a play-through O(n^2), some tens of pourings of O(n * levels) when it shows danger.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import structs

from headgate.planning.arrays import BoolArray, FloatArray, IntArray
from headgate.planning.capacity import NOTHING_LEFT
from headgate.planning.event import event_schedule
from headgate.planning.problem import Problem
from headgate.planning.reserve import NO_RESERVE, WHOLE_RESERVE, Reserve
from headgate.planning.schedule import Schedule
from headgate.planning.water_filling import (
    deadlines_can_be_met,
    relaxed,
    water_filling_rates,
)

__all__ = ["guarded_rates"]

_PARTS = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.0)
"""Fine steps: a site that may be a hundred times as large as is likely is served early only where
some part of that is asked for."""
_RESERVES = (
    WHOLE_RESERVE,
    *(Reserve(part, part, 1.0) for part in _PARTS),
    Reserve(0.0, 0.0, 0.75),
    Reserve(0.0, 0.0, 0.5),
    Reserve(0.0, 0.0, 0.25),
    NO_RESERVE,
)
"""Serving a slow server early costs the others nothing but order: that is given up last."""
_AT_BEST = Reserve(-1.0, 0.0, 1.0)
_BUSY_PART = 0.85
"""Of the time to its deadline in which a site is served that may be late."""
_CERTAIN_PART = 0.8
"""Of what is likely: a site that is no smaller at best is one whose size was told."""
_VAGUE = 1.5
"""Times what is asked for: of a site that may be larger, little is known."""
_MOST_VAGUE = 3
"""Of them that get what room is left: each costs a few pourings."""
_HALVINGS = 6
_MOST_SITES_WEIGHED = 30
"""To ease deadlines, or to give what room is left to some, looks ten times at all sites."""

_WithReserve = Callable[[Reserve], Problem]
"""The sites that run, in order of priority, with a reserve."""


def guarded_rates(
    problem: _WithReserve, look_seconds: float, held: FloatArray | None = None
) -> FloatArray | None:
    """Rates that hold until something happens or ``look_seconds`` have passed; None: serve in
    order, nothing is better. ``held`` are those of now: they stand if they keep deadlines within
    reach for as long, with all the reserve that there can be."""
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
    """With as much reserve as there can be: less of it never makes it harder, so halving finds it.
    None: not even without."""
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
    """Where the same part for all leaves room, sites of which little is known are taken to be
    larger still: one whose every page leads to one more cannot catch up later, whatever rate it is
    given then. The most urgent at their worst come first."""
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
    """Whether serving in order keeps all deadlines, as far as can be seen, and at the rates that it
    begins with. A server may be faster than the reserve has it, and take more from the others."""
    as_fast = structs.replace(asked, caps=np.maximum(asked.caps, likely.caps))
    if any(_in_order(servers).shortfall(servers).any() for servers in (asked, as_fast)):
        return False
    begun = _first_rates(likely, np.arange(len(likely)))
    return _still_within_reach(asked, begun, look_seconds)


def _in_danger(problem: _WithReserve) -> BoolArray:
    """Sites that will be late by what is likely, whatever is done."""
    likely = problem(NO_RESERVE)
    if deadlines_can_be_met(problem(_RESERVES[-1])):
        return np.zeros(len(likely), dtype=np.bool_)
    return _in_order(likely).shortfall(likely) > 0


def _taken_on_trust(problem: _WithReserve) -> BoolArray:
    """Sites whose size was told for certain: a range shows what was seen of it."""
    best, likely = problem(_AT_BEST), problem(NO_RESERVE)
    return best.work >= _CERTAIN_PART * likely.work


def _at_best(problem: _WithReserve, reserve: Reserve, sites: BoolArray) -> Problem:
    """With these sites as large as they may be for all to be on time, but not larger than is
    likely, nor smaller than they may be at best. They are served from now on, lest they find out
    too late how large they are."""
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
    """First those that must be served soonest, lest their servers be too slow to catch up."""
    speeds = np.minimum(problem.caps, problem.capacity.peak)
    return np.argsort(problem.deadlines - problem.work / speeds, kind="stable")


def _most_urgent_first(
    problem: Problem, at_worst: Problem, look_seconds: float
) -> FloatArray | None:
    """Rates as near to those by laxity as keep all deadlines within reach. How urgent a site is
    goes by the worst that is thought of it: what is not known yet is found out in time."""
    safe = _rates(problem)
    if safe is None:
        return None
    urgent = _first_rates(at_worst, _by_laxity(at_worst))

    def within_reach(part: float) -> bool:
        return _still_within_reach(problem, safe + part * (urgent - safe), look_seconds)

    part = 1.0 if within_reach(1.0) else _greatest(within_reach)
    return safe + part * (urgent - safe)


def _filled(rates: FloatArray, likely: Problem) -> FloatArray:
    """With what is left of the budget given to those who can use it, the most urgent first."""
    rest = likely.capacity.rate_at(0.0) - float(rates.sum())
    filled = rates.copy()
    for site in _by_laxity(likely).tolist():
        more = min(rest, float(likely.caps[site] - rates[site]))
        if more > 0:
            filled[site] += more
            rest -= more
    return filled


def _first_rates(problem: Problem, order: IntArray) -> FloatArray:
    """What serving in an order begins with."""
    budget = problem.capacity.rate_at(0.0)
    wanted = np.minimum(problem.caps, budget)[order]
    before = np.concatenate(([0.0], np.cumsum(wanted)[:-1]))
    rates = np.zeros(len(problem))
    rates[order] = np.minimum(wanted, np.maximum(budget - before, 0.0))
    return rates


def _still_within_reach(problem: Problem, rates: FloatArray, look_seconds: float) -> bool:
    return deadlines_can_be_met(_after(problem, rates, look_seconds))


def _after(problem: Problem, rates: FloatArray, look_seconds: float) -> Problem:
    """What is left when these rates have held until the next event."""
    ends = np.divide(problem.work, rates, out=np.full(len(rates), np.inf), where=rates > 0)
    first = float(problem.deadlines.min(initial=np.inf, where=problem.deadlines > 0))
    seconds = min(look_seconds, first, float(ends.min()), problem.capacity.next_turn(0.0))
    left = np.maximum(problem.work - rates * seconds, NOTHING_LEFT)
    deadlines = np.where(left > NOTHING_LEFT, problem.deadlines - seconds, np.inf)
    later = problem.capacity.from_time(seconds)
    return structs.replace(problem, work=left, deadlines=deadlines, capacity=later)


def _eased(problem: Problem) -> Problem | None:
    """With deadlines later by the least part of what serving in order would miss them by."""
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
    """The greatest part found that holds, where 0 does."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
