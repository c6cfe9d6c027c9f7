"""How often a page changes, as far as looks at it tell: a probability for each of 32 rates.

A look says whether the page changed since the one before, not how often. With λ_k the rates
(`rate_grid`) and τ the time between two looks,

    p_k ∝ prior_k · Π_looks (1 − e^{−λ_k τ}  if changed,  e^{−λ_k τ}  if not)^{0.93^age}

where age counts the looks since. Real pages change in bursts, so old looks count less; the factor
was chosen on one half of real changes and checked on the other (`headgate lab freshness`). The
prior is learned from the collection (`rate_prior`), since pages of one collection are alike.

Against a maximum of the likelihood: no root to find, a page looked at once already has a sensible
rate, and whatever is decided can be averaged over what is not known. State per page: a number for
each rate.
"""

from __future__ import annotations

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats

__all__ = ["FORGETTING", "look_likelihood", "posterior"]

FORGETTING = 0.93
"""Weight of a look after each look that follows."""

_LEAST = 1e-300


def look_likelihood(
    rates: FloatArray, gap: float | FloatArray, changed: bool | BoolArray
) -> FloatArray:
    """Logarithm, a column per rate: of one look, or a row for each of several."""
    gaps = np.atleast_1d(as_floats(gap))[:, None]
    unchanged = -rates * gaps
    seen = np.log(np.maximum(-np.expm1(unchanged), _LEAST))
    return as_floats(np.where(np.atleast_1d(changed)[:, None], seen, unchanged))


def posterior(prior: FloatArray, likelihood: FloatArray) -> FloatArray:
    """Probabilities of the rates; ``likelihood`` has a row per page."""
    weights = np.log(np.maximum(prior, _LEAST)) + likelihood
    weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return as_floats(weights / weights.sum(axis=-1, keepdims=True))
