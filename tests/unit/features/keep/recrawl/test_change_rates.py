"""The estimate of change rates, on simulated pages."""

from __future__ import annotations

import numpy as np

from headgate.features.keep.recrawl.page_histories import (
    no_histories,
    rate_probabilities,
    with_looks,
)
from headgate.features.keep.recrawl.rates import RateGrid, RatePrior

GRID = RateGrid()
RATES = GRID.rates


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
