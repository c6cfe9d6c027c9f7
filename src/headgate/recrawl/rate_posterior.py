"""How often a page changes, as far as looks at it tell: a probability for each of 32 rates.

A look says whether the page changed since the one before, not how often. With λ_k the rates
(`rate_grid`) and τ the time between two looks, each look makes of the probabilities p

    p_k ← p_k · (1 − e^{−λ_k τ}  if changed,  e^{−λ_k τ}  if not) / Σ
    p_k ← (1 − ε) · p_k + ε · prior_k

The first line is Bayes' rule. The second is why old looks do not bind for ever: real pages change
in bursts and fall silent, so at every look a page becomes, with probability ε, another page of the
collection, of which nobody knows more than is usual (`rate_prior`). That is the filter of a hidden
Markov model and exact for it: what is expected after the last look is the mean over all ways in
which the page may have become another, each weighed by how well it agrees with what was seen. A
page that changed at every look and then does not is given up for another after a few looks, and one
surprise does not undo what many looks told. ε was chosen on one half of real changes and checked
on the other (`headgate lab freshness`).

Against a maximum of the likelihood: no root to find, a page looked at once already has a sensible
rate, and whatever is decided can be averaged over what is not known.
"""

from __future__ import annotations

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats

__all__ = ["BECOMES_ANOTHER", "look_likelihood", "transition"]

BECOMES_ANOTHER = 0.03
"""ε: the probability at each look."""


def look_likelihood(rates: FloatArray, gaps: FloatArray, changed: bool | BoolArray) -> FloatArray:
    """Of what looks found, so many days after the ones before: a row each, a column per rate."""
    surely = -np.expm1(-rates * gaps[:, None])
    return as_floats(np.where(np.atleast_1d(changed)[:, None], surely, 1 - surely))


def transition(prior: FloatArray) -> FloatArray:
    """With what probability a page of a row's rate is one of a column's rate after a look. A row of
    probabilities times the look's likelihood, times this, are those from the look on, but for a
    factor.

    >>> prior, rates = np.array([0.5, 0.5]), np.array([0.01, 1.0])
    >>> seen = look_likelihood(rates, np.array([1.0]), True)
    >>> after = (prior * seen) @ transition(prior)
    >>> (after / after.sum()).round(3).tolist()
    [[0.03, 0.97]]
    """
    return as_floats((1 - BECOMES_ANOTHER) * np.eye(len(prior)) + BECOMES_ANOTHER * prior)
