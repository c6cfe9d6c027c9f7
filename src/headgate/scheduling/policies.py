"""Every planning policy by its published name; ``headgate`` is our own and the default.

A new one is a file with its algorithm and a row here: ``tests/contract/test_policy.py`` plays it,
and `headgate.scheduling.policy_follower` lets it drive a crawl.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from headgate.model.errors import PlanningError
from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.evolution import differential_evolution, genetic
from headgate.scheduling.order_search import best_schedule
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.proportional import pro_bandwidth, pro_data_amount, random_shares
from headgate.scheduling.rounds import (
    Allocate,
    alloc_once,
    constant_rates,
    instant_allocation,
    re_alloc,
    re_alloc_pro_data_amount,
)

__all__ = ["DEFAULT_POLICY", "POLICIES", "POLICY_NAMES", "Policy", "find_policy"]

DEFAULT_POLICY = "headgate"


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to make a schedule."""

    name: str
    schedule: Callable[[Problem, np.random.Generator], Schedule]
    all_at_once: bool = False
    """Gives every site a rate from the start, so it needs as many crawlers as sites."""

    def fits(self, problem: Problem) -> bool:
        return not self.all_at_once or len(problem) <= problem.slots


def find_policy(name: str) -> Policy:
    """The policy of that name, ignoring case."""
    known = {policy.lower(): policy for policy in POLICIES}
    if name.lower() in known:
        return POLICIES[known[name.lower()]]
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    remedy = f"did you mean {known[near[0]]!r}?" if near else f"known: {', '.join(POLICIES)}"
    raise PlanningError(f"there is no policy {name!r}; {remedy}")


def _instant(name: str, allocate: Allocate) -> Policy:
    return Policy(name, lambda problem, _: constant_rates(problem, allocate), all_at_once=True)


def _random(problem: Problem, rng: np.random.Generator) -> Schedule:
    def allocate(
        work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray
    ) -> FloatArray:
        return random_shares(work, deadlines, budget, caps, rng)

    return constant_rates(problem, allocate)


def _evolved(name: str, search: Callable[..., FloatArray]) -> Policy:
    def schedule(problem: Problem, rng: np.random.Generator) -> Schedule:
        def allocate(
            work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray
        ) -> FloatArray:
            return search(work, deadlines, budget, caps, problem.objective, rng)

        return constant_rates(problem, allocate)

    return Policy(name, schedule, all_at_once=True)


_ALL = (
    Policy(DEFAULT_POLICY, best_schedule),
    _instant("M-MAXT", instant_allocation(m_maxt, m_stet)),
    _instant("M-SUMT", instant_allocation(m_sumt, m_stet)),
    _instant("M-STET", m_stet),
    _instant("PROBandwidth", pro_bandwidth),
    _instant("PRODataAmount", pro_data_amount),
    Policy("Random", _random, all_at_once=True),
    _evolved("GA", genetic),
    _evolved("DE", differential_evolution),
    Policy("ReAlloc-MAXT", lambda problem, _: re_alloc(problem, m_maxt, m_stet)),
    Policy("ReAlloc-SUMT", lambda problem, _: re_alloc(problem, m_sumt, m_stet)),
    Policy("ReAlloc-PROBandwidth", lambda p, _: re_alloc(p, pro_bandwidth, pro_bandwidth)),
    Policy("ReAlloc-PRODataAmount", lambda problem, _: re_alloc_pro_data_amount(problem)),
    Policy("AllocOnce", lambda problem, _: alloc_once(problem)),
)
POLICIES = {policy.name: policy for policy in _ALL}
POLICY_NAMES = tuple(POLICIES)
