"""How well change rates are known from looks: errors on made pages, calibration on real ones.

**Errors**: rates lognormal(0, 1) around one change in ten days, looks ten days apart on average at
random times, 2,000 pages, the prior learned from them. **Calibration**: the held-out pages, looks
twelve days apart on average; before each look the probability of a change is predicted, and
compared with the result, over the second half of the time, in ten bins by prediction. With some 100
looks in a bin even a perfect forecast is off by chance, and the largest of ten gaps by more; how
much is computed from random draws, and shown with it. Looks of several seeds together have less of
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.features.keep.recrawl.page_estimates import probability_changed
from headgate.features.keep.recrawl.page_histories import (
    Histories,
    no_histories,
    rate_probabilities,
    with_looks,
)
from headgate.features.keep.recrawl.rates import RateGrid, RatePrior
from headgate_lab.papers.freshness.changes import DAYS, WatchedPage

__all__ = ["Bin", "Estimation", "estimate", "largest_gap", "together"]

_PAGES = 2000
_LOOKS = (5, 10, 30)
_MADE_DAYS, _REAL_DAYS = 10.0, 12.0
_BINS = 10
_FEW = 100
"""A bin with fewer looks says little."""
_DRAWS = 50
_DAY_SECONDS = 86_400.0
_GRID = RateGrid()


@dataclass(frozen=True, slots=True)
class Bin:
    """Looks with about the same prediction."""

    looks: int
    said: float
    """Changes that were expected."""
    found: float


@dataclass(frozen=True, slots=True)
class Estimation:
    errors: tuple[float, ...]
    """Root of the mean squared error of the rate's logarithm after 5, 10 and 30 looks."""
    log_loss: float
    largest_gap: float
    """Largest gap between prediction and result, over ten bins."""
    gap_by_chance: float
    """Its expected value if all predictions were right."""
    bins: tuple[Bin, ...]


def estimate(pages: Sequence[WatchedPage], seed: int) -> Estimation:
    rng = np.random.default_rng(seed)
    said, found = _calibration(pages, rng)
    bins = _binned(said, found)
    chance = [largest_gap(_binned(said, rng.random(len(said)) < said)) for _ in range(_DRAWS)]
    return Estimation(
        _errors(np.random.default_rng(seed)),
        _log_loss(said, found),
        largest_gap(bins),
        float(np.mean(chance)),
        bins,
    )


def together(bins: Iterable[Sequence[Bin]]) -> list[Bin]:
    """The same bins over several seeds.

    >>> together([[Bin(100, 20.0, 30.0)], [Bin(300, 60.0, 50.0)]])
    [Bin(looks=400, said=80.0, found=80.0)]
    """
    return [
        Bin(
            sum(one.looks for one in each),
            sum(one.said for one in each),
            sum(one.found for one in each),
        )
        for each in zip(*bins, strict=True)
    ]


def largest_gap(bins: Iterable[Bin]) -> float:
    """
    >>> largest_gap([Bin(100, 20.0, 30.0), Bin(99, 0.0, 99.0)])
    0.1
    """
    return max(abs(one.said - one.found) / one.looks for one in bins if one.looks >= _FEW)


def _posteriors(histories: Histories, prior: RatePrior) -> FloatArray:
    found = rate_probabilities(_GRID, histories, prior.probabilities(_GRID))
    prior.counted("all", as_floats(found.sum(axis=0)))
    prior.renew()
    return found


def _errors(rng: np.random.Generator) -> tuple[float, ...]:
    true = rng.lognormal(0, 1, _PAGES) / _MADE_DAYS
    histories, prior = no_histories(_PAGES), RatePrior()
    errors = []
    for look in range(1, max(_LOOKS) + 1):
        gaps = rng.exponential(_MADE_DAYS, _PAGES)
        changed = rng.random(_PAGES) < -np.expm1(-true * gaps)
        histories = with_looks(histories, gaps * _DAY_SECONDS, changed)
        known = _posteriors(histories, prior)
        if look in _LOOKS:
            wrong = known @ np.log(_GRID.rates) - np.log(true)
            errors.append(float(np.sqrt(np.mean(wrong**2))))
    return tuple(errors)


def _calibration(
    pages: Sequence[WatchedPage], rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    most_looks = int(2 * DAYS / _REAL_DAYS)
    moments = np.cumsum(rng.exponential(_REAL_DAYS, (len(pages), most_looks)), axis=1)
    histories, prior = no_histories(len(pages)), RatePrior()
    asked = np.zeros(len(pages))
    said, found = [], []
    for now in moments.T:
        there = now <= DAYS
        if not there.any():
            break
        known = _posteriors(histories, prior)
        gaps = now - asked
        expected = np.einsum("pk,pk->p", known, probability_changed(_GRID.rates, gaps[:, None]))
        changed = np.array([
            _changed(page, before, at) for page, before, at in zip(pages, asked, now, strict=True)
        ])  # fmt: skip
        late = there & (now > DAYS / 2)
        said.append(expected[late])
        found.append(changed[late])
        histories = with_looks(histories, gaps * _DAY_SECONDS, changed)
        asked = now
    return np.clip(np.concatenate(said), 1e-6, 1 - 1e-6), np.concatenate(found)


def _changed(page: WatchedPage, before: float, now: float) -> bool:
    first, last = np.searchsorted(page.changes, (before, now), side="right")
    return bool(last > first)


def _log_loss(said: FloatArray, found: BoolArray) -> float:
    return -float(np.mean(np.where(found, np.log(said), np.log(1 - said))))


def _binned(said: FloatArray, found: BoolArray) -> tuple[Bin, ...]:
    place = np.minimum((said * _BINS).astype(int), _BINS - 1)
    counts = [
        np.bincount(place, what, _BINS).tolist() for what in (np.ones(len(said)), said, found)
    ]
    return tuple(Bin(int(looks), *sums) for looks, *sums in zip(*counts, strict=True))
