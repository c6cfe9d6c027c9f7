"""Estimators of change rates, against brute force and simulated pages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray
from headgate.features.keep.recrawl.page_histories import (
    no_histories,
    rate_probabilities,
    with_looks,
)
from headgate.features.keep.recrawl.rates import RateGrid, RatePrior
from headgate_lab.papers.freshness.published_rates import (
    cho_rate,
    last_modified_rate,
    lln_rate,
    map_rate,
    mle_rate,
    naive_rate,
)

GRID = RateGrid()
RATES = GRID.rates


def test_cho_is_nearly_unbiased_where_the_naive_rate_is_not() -> None:
    rng = np.random.default_rng(1)
    changes = rng.binomial(50, 1 - np.exp(-1.0), size=4000)  # λI = 1
    naive = np.mean([naive_rate(50, int(x), 1.0) for x in changes])
    cho = np.mean([cho_rate(50, int(x), 1.0) for x in changes])
    assert naive == pytest.approx(1 - np.exp(-1), abs=0.01)
    assert cho == pytest.approx(1.0, abs=0.03)


def _log_density(rate: float, gaps: FloatArray, changed: BoolArray, a: float, b: float) -> float:
    """Of the looks, and of a Gamma(a, b) prior; a = 1, b = 0: of the looks alone."""
    looks = np.where(changed, np.log(-np.expm1(-rate * gaps)), -rate * gaps).sum()
    return float(looks + (a - 1) * np.log(rate) - b * rate)


looks_seen = st.lists(
    st.tuples(st.floats(0.01, 100.0), st.booleans()), min_size=1, max_size=12
).map(lambda rows: (np.array([r[0] for r in rows]), np.array([r[1] for r in rows])))


@given(looks_seen)
def test_the_most_likely_rate_has_no_likelier_beside_it(
    looks: tuple[FloatArray, BoolArray],
) -> None:
    gaps, changed = looks
    found = mle_rate(gaps, changed)
    if not changed.any():
        assert found == 0
    elif changed.all():
        assert found == np.inf
    else:
        best = _log_density(found, gaps, changed, 1, 0)
        for other in np.geomspace(found / 50, found * 50, 101):
            assert _log_density(float(other), gaps, changed, 1, 0) <= best + 1e-9


@given(looks_seen, st.floats(0.01, 10.0))
def test_the_most_probable_rate_has_no_more_probable_beside_it(
    looks: tuple[FloatArray, BoolArray], usual: float
) -> None:
    gaps, changed = looks
    found = map_rate(gaps, changed, usual)
    best = _log_density(found, gaps, changed, 1.5, 0.5 / usual)
    for other in np.geomspace(found / 50, found * 50, 101):
        assert _log_density(float(other), gaps, changed, 1.5, 0.5 / usual) <= best + 1e-9


def test_the_rate_by_random_looks_comes_to_the_true_one() -> None:
    rng = np.random.default_rng(2)
    changed = rng.random(20_000) < 3.0 / (3.0 + 0.5)
    assert lln_rate(len(changed), int(changed.sum()), 0.5) == pytest.approx(3.0, rel=0.05)


def test_times_of_last_changes_give_the_rate() -> None:
    rng = np.random.default_rng(3)
    since_change = rng.exponential(1 / 0.8, size=5000)  # backwards from each look, rate 0.8
    quiet = np.minimum(since_change, 1.0).sum()
    changes = int((since_change < 1.0).sum())
    assert last_modified_rate(5000, changes, float(quiet)) == pytest.approx(0.8, rel=0.05)


def test_errors_of_the_mean_rate() -> None:
    """Rates lognormal(0, 1) around one change in ten days, looks ten days apart on average."""
    rng = np.random.default_rng(4)
    true = rng.lognormal(0, 1, 2000) / 10
    histories, collection = no_histories(len(true)), RatePrior()
    errors = {}
    for look in range(1, 31):
        gaps = rng.exponential(10.0, len(true))
        changed = rng.random(len(true)) < -np.expm1(-true * gaps)
        histories = with_looks(histories, gaps * 86_400, changed)
        rates = rate_probabilities(GRID, histories, collection.probabilities(GRID))
        collection.counted("site", rates.sum(axis=0))
        collection.renew()
        errors[look] = float(np.sqrt(np.mean((rates @ np.log(RATES) - np.log(true)) ** 2)))
    assert errors[5] <= 0.74
    assert errors[10] <= 0.58
    assert errors[30] <= 0.43
