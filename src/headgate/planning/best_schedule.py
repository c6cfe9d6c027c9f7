"""Headgate's own policy: the least shortfall (problem.py: total lateness where no site stops at its
deadline), then the user's objective.

Where no cap binds, one site at a time at the full rate is optimal (dominance theorem,
docs/algorithms/event.md), so only the order is in question, and up to some hundred sites it is
found exactly. Where caps bind, several orders are tried in the EVENT list schedule, the best one
improved by search; a water-filling schedule (when every site has a crawler) and the paper's own
rounds are candidates, too, so the result is never later than theirs. When every site has a crawler
and some must be late, water-filling improves the best of these: it finds the smallest part of that
lateness, the same for every site, that cannot be avoided.

Where sites that stop cannot have everything, one at a time is still optimal for what each of them
gets, but how much that should be is open: the best order is searched for. No schedule but that of
an order is taken that leaves something undone: a crawl that serves its sites in the plan's order
then stops them with as much left as planned.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headgate.planning.arrays import IntArray
from headgate.planning.bounds import Bounds, lower_bounds
from headgate.planning.event import EventSimulator, Outcome, event_schedule
from headgate.planning.maxt import m_maxt
from headgate.planning.order_search import improve_order
from headgate.planning.problem import Problem
from headgate.planning.proportional import pro_bandwidth
from headgate.planning.rounds import alloc_once, re_alloc, re_alloc_pro_data_amount
from headgate.planning.schedule import Schedule
from headgate.planning.simple_orders import simple_orders
from headgate.planning.stet import m_stet
from headgate.planning.sumt import m_sumt
from headgate.planning.tardiness import smith_order, total_tardiness_order
from headgate.planning.water_filling import relaxed, water_filling_schedule

__all__ = ["best_schedule"]

_CLOSE_ENOUGH = 1e-3
"""An objective within this part of its bound is not worth a search."""
_MOST_SITES_FOR_WATER_FILLING = 1000
"""Its schedule costs O(n^2)."""


def best_schedule(problem: Problem, rng: np.random.Generator) -> Schedule:
    """The schedule Headgate follows; deterministic for a given generator state."""
    if not problem.capped:
        order = _order_without_caps(problem)
        if order is not None:
            return event_schedule(problem, order)
    return _searched(problem, rng)


def _order_without_caps(problem: Problem) -> IntArray | None:
    """A provably optimal order, or None."""
    # In bytes instead of seconds a changing budget is a constant one.
    on_time = smith_order(problem.work, problem.capacity.bytes_by(problem.deadlines))
    if on_time is not None:
        return on_time
    if problem.capacity.is_constant and not problem.may_stop:
        return total_tardiness_order(problem.work / problem.capacity.peak, problem.deadlines)
    return None


def _searched(problem: Problem, rng: np.random.Generator) -> Schedule:
    bounds = lower_bounds(problem)
    simulator = EventSimulator(problem)

    def merit(order: IntArray) -> tuple[float, float]:
        outcome = simulator.run(order.tolist())
        assert outcome is not None
        return outcome.merit(problem.objective)

    order = min(simple_orders(problem), key=merit)
    if _worth_searching(problem, merit(order), bounds):
        order = improve_order(
            problem,
            order,
            rng,
            least_makespan=bounds.makespan,
            least_total_time=bounds.total_time,
        )
    complete = [other for other in _other_schedules(problem) if _leaves_nothing(problem, other)]
    candidates = [event_schedule(problem, order), *complete]
    best = min(candidates, key=lambda schedule: _standing(problem, schedule))
    return _tightened(problem, best) if _leaves_nothing(problem, best) else best


def _other_schedules(problem: Problem) -> Iterator[Schedule]:
    if _water_filling_applies(problem):
        on_time = water_filling_schedule(problem)
        if on_time is not None:
            yield on_time
    if problem.capped:
        yield re_alloc(problem, m_maxt, m_stet).stopped(problem)
        yield re_alloc(problem, m_sumt, m_stet).stopped(problem)
        yield re_alloc(problem, pro_bandwidth, pro_bandwidth).stopped(problem)
        yield re_alloc_pro_data_amount(problem).stopped(problem)
        yield alloc_once(problem).stopped(problem)


def _leaves_nothing(problem: Problem, schedule: Schedule) -> bool:
    return not schedule.left(problem).any()


def _tightened(problem: Problem, schedule: Schedule) -> Schedule:
    late = schedule.lateness(problem)
    if not late.any() or not _water_filling_applies(problem):
        return schedule
    eased = relaxed(problem, late)
    tighter = None if eased is None else water_filling_schedule(eased)
    if tighter is None or _standing(problem, tighter) >= _standing(problem, schedule):
        return schedule
    return tighter


def _water_filling_applies(problem: Problem) -> bool:
    few = len(problem) <= min(problem.slots, _MOST_SITES_FOR_WATER_FILLING)
    return few and problem.capped


def _worth_searching(problem: Problem, merit: tuple[float, float], bounds: Bounds) -> bool:
    least = Outcome(bounds.shortfall, bounds.makespan, bounds.total_time).merit(problem.objective)
    return any(
        value > bound * (1 + _CLOSE_ENOUGH) for value, bound in zip(merit, least, strict=True)
    )


def _standing(problem: Problem, schedule: Schedule) -> tuple[float, float]:
    missed = float(schedule.shortfall(problem).sum())
    outcome = Outcome(missed, schedule.makespan, schedule.total_time)
    return outcome.merit(problem.objective)
