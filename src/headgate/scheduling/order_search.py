"""EVENT-LS: a better order, by trying all where there are few and by simulated annealing else.

An order is better when its shortfall (problem.py) is less, and among equals its objective, makespan
or sum of execution times. So annealing has two halves: the first lowers ln(shortfall), the second
ln(objective) among the orders that have no larger shortfall than the best of the first. Where there
is no shortfall the second has all the moves.

Moves, cooling and their numbers are those of the specification (docs/algorithms/event.md): 60 %
insertions and 40 % swaps, half of the moves within six places, temperature from 0.03 to 0 linearly,
in each half.

The random number that decides on a move is drawn before the move is tried. That gives the largest
shortfall still accepted, and the simulation stops there: most moves are refused after a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from headgate.model.budget import Objective
from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt
from headgate.scheduling.arrays import IntArray
from headgate.scheduling.bounds import Bounds, lower_bounds
from headgate.scheduling.event_schedule import EventSimulator, ScheduleOutcome, event_schedule
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.proportional import pro_bandwidth
from headgate.scheduling.rounds import alloc_once, re_alloc, re_alloc_pro_data_amount
from headgate.scheduling.tardiness import simple_orders, smith_order, total_tardiness_order
from headgate.scheduling.water_filling import relaxed, water_filling_schedule

__all__ = ["best_schedule", "improve_order"]

STEPS_SPENT = 2_500_000
"""Rates set in simulation, by all moves together: about a second, whatever the number of sites."""

_MOST_ORDERS = 5040
"""The number of orders of seven sites; up to so many, all are tried."""
_MOVES_PER_SITE = 200
"""Few sites have few orders."""
_FEWEST_MOVES = 100
"""Fewer would be noise: with thousands of sites the simple orders stand."""
_FIRST_TEMPERATURE = 0.03
_GRAIN = 1e-4
"""Of the makespan: a shortfall that hardly counts."""
_SAME_SHORTFALL = 5e-4
"""Seconds: shortfalls are compared to the millisecond."""
_SHARE_OF_INSERTIONS = 0.6
_SHARE_OF_NEAR_MOVES = 0.5
_NEAR = 6


def improve_order(
    problem: Problem,
    order: IntArray,
    rng: np.random.Generator,
    *,
    least_makespan: float,
    least_total_time: float,
    steps: int = STEPS_SPENT,
    started: int = 0,
) -> IntArray:
    """The best order found from ``order`` on, in O(steps).

    The first ``started`` places hold running sites; none moves between them and the others.
    """
    simulator = EventSimulator(problem)
    first = simulator.run(order.tolist())
    assert first is not None
    if first.makespan <= 0:
        return order  # nothing is left to do
    cost = _cost(len(problem), first)
    if _number_of_orders(len(problem), started) <= min(_MOST_ORDERS, steps / cost):
        return _best_of_all(simulator, problem.objective, order, started)
    moves = min(int(steps / cost), _MOVES_PER_SITE * len(problem))
    if moves < _FEWEST_MOVES:
        return order
    makespan = problem.objective is Objective.MAKESPAN
    search = _Search(
        simulator,
        problem.objective,
        grain=_GRAIN * first.makespan,
        least_value=least_makespan if makespan else least_total_time,
        started=started,
        current=order.tolist(),
        best=order.tolist(),
        best_merit=first.merit(problem.objective),
    )
    dice = rng.random((moves, 5)).tolist()
    spent = search.lower_shortfall(dice[: moves // 2]) if first.shortfall > 0 else 0
    search.lower_objective(dice[spent:])
    return np.array(search.best, dtype=np.intp)


@dataclass(slots=True)
class _Search:
    simulator: EventSimulator
    objective: Objective
    grain: float
    """Seconds; a shortfall below it hardly counts."""
    least_value: float
    """No order has an objective below this."""
    started: int
    current: list[int]
    best: list[int]
    best_merit: tuple[float, float]

    def lower_shortfall(self, dice: list[list[float]]) -> int:
        """Anneal ln(shortfall) until it is zero or the random numbers are used up; returns how many
        were."""
        now = self._log_shortfall(self.best_merit[0])
        for move, roll in enumerate(dice):
            if self.best_merit[0] <= 0:
                return move
            accepted = now + _tolerance(move / len(dice), roll)
            outcome = self._try(roll, float(np.exp(accepted)) - self.grain)
            if outcome is not None:
                now = self._log_shortfall(outcome.shortfall)
        return len(dice)

    def lower_objective(self, dice: list[list[float]]) -> None:
        """Anneal ln(objective) among the orders of no larger shortfall than the best."""
        self.current = self.best
        now = float(np.log(max(self.best_merit[1], self.grain)))
        for move, roll in enumerate(dice):
            if self.best_merit[1] <= self.least_value * (1 + 1e-9):
                return
            accepted = now + _tolerance(move / len(dice), roll)
            outcome = self._try(roll, self.best_merit[0] + _SAME_SHORTFALL, float(np.exp(accepted)))
            if outcome is not None:
                now = float(np.log(max(outcome.merit(self.objective)[1], self.grain)))

    def _try(
        self, roll: list[float], most_shortfall: float, most_value: float = np.inf
    ) -> ScheduleOutcome | None:
        """Make a move, unless it leads beyond these; what it leads to."""
        kind, nearness, from_, to, _ = roll
        insert = kind < _SHARE_OF_INSERTIONS
        tried = _moved(
            self.current, self.started, insert=insert, nearness=nearness, from_=from_, to=to
        )
        outcome = self.simulator.run(tried, most_shortfall=most_shortfall)
        if outcome is None:
            return None
        merit = outcome.merit(self.objective)
        if merit[1] > most_value:
            return None
        self.current = tried
        if merit < self.best_merit:
            self.best, self.best_merit = tried, merit
        return outcome

    def _log_shortfall(self, shortfall: float) -> float:
        return float(np.log(shortfall + self.grain))


def _tolerance(progress: float, roll: list[float]) -> float:
    """By how much more a move may lead to, in units of the logarithm."""
    return -_FIRST_TEMPERATURE * (1 - progress) * float(np.log(max(roll[-1], 1e-300)))


def _cost(sites: int, outcome: ScheduleOutcome) -> float:
    """Rates set in one simulation: at every end, those of the sites that run then."""
    at_once = outcome.total_time / outcome.makespan if outcome.makespan > 0 else 0.0
    return max(sites * (1 + at_once), 1.0)


def _number_of_orders(sites: int, started: int) -> float:
    if sites > 20:
        return np.inf
    return math.factorial(started) * math.factorial(sites - started)


def _best_of_all(
    simulator: EventSimulator, objective: Objective, order: IntArray, started: int
) -> IntArray:
    best, best_merit = order.tolist(), (np.inf, np.inf)
    for running in permutations(order.tolist()[:started]):
        for waiting in permutations(order.tolist()[started:]):
            tried = [*running, *waiting]
            outcome = simulator.run(tried, most_shortfall=best_merit[0] + _SAME_SHORTFALL)
            if outcome is not None and outcome.merit(objective) < best_merit:
                best, best_merit = tried, outcome.merit(objective)
    return np.array(best, dtype=np.intp)


def _moved(
    order: list[int], started: int, insert: bool, nearness: float, from_: float, to: float
) -> list[int]:
    source = int(from_ * len(order))
    first, last = (0, started - 1) if source < started else (started, len(order) - 1)
    if nearness < _SHARE_OF_NEAR_MOVES:
        target = min(max(source + round((2 * to - 1) * _NEAR), first), last)
    else:
        target = first + int(to * (last - first + 1))
    moved = list(order)
    if insert:
        moved.insert(target, moved.pop(source))
    else:
        moved[source], moved[target] = moved[target], moved[source]
    return moved


_CLOSE_ENOUGH = 1e-3
"""An objective within this part of its bound is not worth a search."""
_MOST_SITES_FOR_WATER_FILLING = 1000
"""Its schedule costs O(n^2)."""


def best_schedule(problem: Problem, rng: np.random.Generator) -> Schedule:
    """Headgate's own policy: the least shortfall (problem.py: total lateness where no site stops at
    its deadline), then the user's objective.

    Where no cap binds, one site at a time at the full rate is optimal (dominance theorem,
    docs/algorithms/event.md), so only the order is in question, and up to some hundred sites it is
    found exactly. Where caps bind, several orders are tried in the EVENT list schedule, the best
    one improved by search; a water-filling schedule (when every site has a crawler) and the paper's
    own rounds are candidates, too, so the result is never later than theirs. When every site has a
    crawler and some must be late, water-filling improves the best of these: it finds the smallest
    part of that lateness, the same for every site, that cannot be avoided.

    Where sites that stop cannot have everything, one at a time is still optimal for what each of
    them gets, but how much that should be is open: the best order is searched for. No schedule but
    that of an order is taken that leaves something undone: a crawl that serves its sites in the
    plan's order then stops them with as much left as planned.

    The schedule Headgate follows; deterministic for a given generator state.
    """
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
    least = ScheduleOutcome(bounds.shortfall, bounds.makespan, bounds.total_time).merit(
        problem.objective
    )
    return any(
        value > bound * (1 + _CLOSE_ENOUGH) for value, bound in zip(merit, least, strict=True)
    )


def _standing(problem: Problem, schedule: Schedule) -> tuple[float, float]:
    missed = float(schedule.shortfall(problem).sum())
    outcome = ScheduleOutcome(missed, schedule.makespan, schedule.total_time)
    return outcome.merit(problem.objective)
