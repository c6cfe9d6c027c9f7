"""Values and periods of looks against numerical optima and simulation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.page_estimates import (
    expected_age,
    look_value,
    mean_age,
    mean_freshness,
    probability_changed,
)
from headgate.model.keeping import Staleness
from headgate_lab.papers.freshness.best_periods import best_periods

positive = st.floats(1e-3, 1e3)


@given(positive, positive)
def test_means_and_values_are_the_integrals_they_stand_for(rate: float, period: float) -> None:
    def stale(s: float) -> float:
        return float(probability_changed(rate, s))

    def age(s: float) -> float:
        return float(expected_age(rate, s))

    of_stale, of_age = _integral(stale, rate, period), _integral(age, rate, period)
    assert mean_freshness(rate, period) == pytest.approx(1 - of_stale / period, rel=1e-6, abs=1e-9)
    assert mean_age(rate, period) == pytest.approx(of_age / period, rel=1e-5)
    value = float(look_value(Staleness.FRESHNESS, rate, period))
    assert value == pytest.approx(period * stale(period) - of_stale, rel=1e-4, abs=1e-12 / rate)
    value = float(look_value(Staleness.AGE, rate, period))
    assert value == pytest.approx(period * age(period) - of_age, rel=1e-4, abs=1e-12 / rate**2)


def _integral(function: Callable[[float], float], rate: float, period: float) -> float:
    """From 0 on, in pieces within which nothing bends much."""
    edges = [0.0, *(edge for edge in np.geomspace(0.1, 100, 20) / rate if edge < period), period]
    pieces = itertools.pairwise(edges)
    return sum(quad(function, low, high, epsabs=0)[0] for low, high in pieces)


def _population(seed: int, pages: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.lognormal(0, 1, pages), rng.lognormal(0, 0.5, pages), rng.lognormal(0, 0.7, pages)


def _numerically_best(cost_of: Any, start: FloatArray, costs: FloatArray, capacity: float) -> float:
    """Least of ``cost_of(frequencies)`` with Σ cost · frequency = capacity."""
    spent: Any = {"type": "eq", "fun": lambda f: float((costs * f).sum() - capacity)}
    bounds = [(1e-9, None)] * len(start)
    options: Any = {"maxiter": 1000, "ftol": 1e-13}
    found = minimize(cost_of, start, bounds=bounds, constraints=[spent], options=options)
    return float(found.fun)


@pytest.mark.parametrize("staleness", list(Staleness))
@pytest.mark.parametrize("seed", range(5))
def test_no_other_periods_are_better(staleness: Staleness, seed: int) -> None:
    rates, importances, costs = _population(seed, 6)

    def loss(frequencies: FloatArray) -> float:
        if staleness is Staleness.AGE:
            return float((importances * mean_age(rates, 1 / frequencies)).sum())
        return -float((importances * mean_freshness(rates, 1 / frequencies)).sum())

    periods = best_periods(staleness, rates, importances, costs, capacity=3.0)
    assert (costs / periods).sum() == pytest.approx(3.0)
    best = _numerically_best(loss, np.full(6, 3.0 / costs.sum()), costs, 3.0)
    ours = loss(np.maximum(1 / periods, 1e-9))
    assert ours <= best + 1e-5 * abs(best)


def test_pages_that_change_too_fast_are_given_up_for_freshness_and_never_for_age() -> None:
    rates, one = np.array([0.1, 1.0, 1000.0]), np.ones(3)
    assert best_periods(Staleness.FRESHNESS, rates, one, one, 0.5)[2] == np.inf
    assert np.isfinite(best_periods(Staleness.AGE, rates, one, one, 0.5)).all()


def test_no_period_is_shorter_than_politeness_allows() -> None:
    rates, importances, costs = _population(1, 20)
    shortest = np.full(20, 0.8)
    periods = best_periods(
        Staleness.AGE, rates, importances=importances, costs=costs, capacity=15.0, shortest=shortest
    )
    assert (periods >= 0.8).all()
    assert (costs / periods).sum() <= 15.0 * (1 + 1e-9)


def test_looking_at_the_largest_value_comes_to_the_best_periods() -> None:
    """No capacity is known to the index, and no interval is kept."""
    rates, importances, _ = _population(7, 200)
    one = np.ones(200)
    periods = best_periods(Staleness.FRESHNESS, rates, importances, one, capacity=40.0)
    best = float((importances * mean_freshness(rates, np.minimum(periods, 1e6))).sum())
    asked, steps, fresh = np.zeros(200), 40 * 60, 0.0
    for step in range(1, steps + 1):
        now = step / 40.0
        page = int(np.argmax(importances * look_value(Staleness.FRESHNESS, rates, now - asked)))
        asked[page] = now
        if step > steps / 3:
            fresh += float((importances * (1 - probability_changed(rates, now - asked))).sum())
    assert fresh / (steps - steps // 3) >= 0.99 * best
