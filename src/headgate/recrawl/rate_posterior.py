"""How often a page changes, as far as looks at it tell: a probability for each of 32 rates.

A look says whether the page changed since the one before, not how often. With λ_k the rates and τ
the time between two looks,

    p_k ∝ prior_k · Π_looks (1 − e^{−λ_k τ}  if changed,  e^{−λ_k τ}  if not)^{0.9^age}

where age counts the looks since. Real pages change in bursts, so old looks count less; the factor
was chosen on one half of real changes and checked on the other (`headgate lab freshness`). The
prior is learned from the collection, since pages of one collection are alike: it is the mean of
their posteriors, with twenty pages' worth of a lognormal around one change in two months.

Against a maximum of the likelihood: no root to find, a page looked at once already has a sensible
rate, and whatever is decided can be averaged over what is not known. State per page: 32 floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats

__all__ = ["FORGETTING", "RATES", "RatePrior", "first_prior", "look_likelihood", "posterior"]

RATES: FloatArray = np.geomspace(1 / 3000, 4.0, 32)
"""Changes per day."""

FORGETTING = 0.9
"""Weight of a look after each look that follows."""

_USUAL_RATE = 1 / 60
_USUAL_SPREAD = 1.6
"""Of the logarithm."""
_USUAL_PAGES = 20.0
"""So many pages of a collection weigh as much as what is usual."""
_LEAST = 1e-300


def first_prior() -> FloatArray:
    """Before anything is known of a collection."""
    weights = np.exp(-0.5 * (np.log(RATES / _USUAL_RATE) / _USUAL_SPREAD) ** 2)
    return as_floats(weights / weights.sum())


def look_likelihood(gap: float | FloatArray, changed: bool | BoolArray) -> FloatArray:
    """Logarithm, a column per rate: of one look, or a row for each of several."""
    gaps = np.atleast_1d(as_floats(gap))[:, None]
    unchanged = -RATES * gaps
    seen = np.log(np.maximum(-np.expm1(unchanged), _LEAST))
    return as_floats(np.where(np.atleast_1d(changed)[:, None], seen, unchanged))


def posterior(prior: FloatArray, likelihood: FloatArray) -> FloatArray:
    """Probabilities of the rates; ``likelihood`` has a row per page."""
    weights = np.log(np.maximum(prior, _LEAST)) + likelihood
    weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return as_floats(weights / weights.sum(axis=-1, keepdims=True))


@dataclass(slots=True)
class RatePrior:
    """What is usual in a collection: the sum of its pages' posteriors, kept as pages are seen."""

    weights: FloatArray
    pages: float = 0.0

    @classmethod
    def usual(cls) -> RatePrior:
        return cls(np.zeros_like(RATES))

    @classmethod
    def of(cls, posteriors: FloatArray) -> RatePrior:
        """From a row per page."""
        return cls(as_floats(posteriors.sum(axis=0)), float(len(posteriors)))

    def probabilities(self) -> FloatArray:
        total = self.weights + _USUAL_PAGES * first_prior()
        return as_floats(total / (self.pages + _USUAL_PAGES))
