"""EVENT-LS: a better order by simulated annealing on the permutation.

Moves, cooling and their numbers are those of the specification (docs/algorithms/event.md): 60 %
insertions and 40 % swaps, half of the moves within six places, temperature from 0.03 to 0
linearly, in units of the objective  ln(lateness) + ln(makespan or sum of execution times).

The random number that decides on a move is drawn before the move is tried. That gives the worst
value still accepted, hence the most lateness it may have, and the simulation stops there: most
moves are refused after a part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.model.budget import Objective
from headgate.planning.arrays import IntArray
from headgate.planning.event import EventSimulator, Outcome
from headgate.planning.problem import Problem

__all__ = ["STEPS_SPENT", "improve_order"]

STEPS_SPENT = 2_500_000
"""Rates set in simulation, by all moves together: about a second, whatever the number of sites."""

_MOVES_PER_SITE = 200
"""Few sites have few orders."""
_FEWEST_MOVES = 100
"""Fewer would be noise: with thousands of sites the simple orders stand."""
_FIRST_TEMPERATURE = 0.03
_SHARE_OF_INSERTIONS = 0.6
_SHARE_OF_NEAR_MOVES = 0.5
_NEAR = 6


@dataclass(frozen=True, slots=True)
class _Energy:
    """The value annealing lowers; lateness below ``grain`` seconds hardly counts."""

    objective: Objective
    grain: float
    least_objective: float

    def of(self, outcome: Outcome) -> float:
        makespan = self.objective is Objective.MAKESPAN
        value = outcome.makespan if makespan else outcome.total_time
        return float(np.log(outcome.tardiness + self.grain) + np.log(value))

    def most_tardiness(self, energy: float) -> float:
        """The lateness above which no outcome has this energy or less."""
        return float(np.exp(energy - np.log(self.least_objective)) - self.grain)


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

    The first ``started`` places hold sites that run already: nobody passes from them to the others.
    """
    simulator = EventSimulator(problem)
    current = order.tolist()
    first = simulator.run(current)
    assert first is not None
    moves = _affordable_moves(len(problem), first, steps)
    if len(problem) < 2 or moves < _FEWEST_MOVES:
        return order
    makespan = problem.objective is Objective.MAKESPAN
    least_objective = least_makespan if makespan else least_total_time
    energy = _Energy(problem.objective, 1e-4 * least_makespan, least_objective)
    now = best = energy.of(first)
    best_order = list(current)
    floor = energy.of(Outcome(0.0, least_objective, least_objective))
    dice = rng.random((moves, 5))
    for move, (kind, nearness, from_, to, chance) in enumerate(dice.tolist()):
        temperature = _FIRST_TEMPERATURE * (1 - move / moves)
        accepted = now - temperature * float(np.log(max(chance, 1e-300)))
        tried = _moved(current, started, kind < _SHARE_OF_INSERTIONS, nearness, from_, to)
        outcome = simulator.run(tried, most_tardiness=energy.most_tardiness(accepted))
        if outcome is None:
            continue
        value = energy.of(outcome)
        if value <= accepted:
            current, now = tried, value
            if now < best:
                best, best_order = now, tried
                if best <= floor + 1e-9:
                    break
    return np.array(best_order, dtype=np.intp)


def _affordable_moves(sites: int, outcome: Outcome, steps: int) -> int:
    """A move simulates every end, and each end sets the rates of the sites that run then."""
    at_once = outcome.total_time / outcome.makespan if sites else 0.0
    cost = sites * (1 + at_once)
    return min(int(steps / max(cost, 1.0)), _MOVES_PER_SITE * sites)


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
