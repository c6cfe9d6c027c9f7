"""The posterior of a page's change rate, given the looks at it: a probability for each rate.

A look shows whether the page changed since the one before, not how often. With λ_k the rates
(`rate_grid`) and τ the time between two looks, each look updates the probabilities p:

    p_k ← p_k · (1 − e^{−λ_k τ}  if changed,  e^{−λ_k τ}  if not) / Σ
    p_k ← (1 − ε) · p_k + ε · prior_k

The first line is Bayes' rule. By the second, old looks are forgotten: real pages change in bursts,
so at every look a page gets, with probability ε, a new rate from the prior of the collection
(`rate_prior`). That is the exact filter of a hidden Markov model. A page that changed at every look
and then does not gets a lower rate after a few looks, and one surprise does not undo what many
looks showed. ε was chosen on one half of real changes and checked on the other (`headgate lab
freshness`).

Compared with maximum likelihood, there is no root to find, one look is enough for a sensible rate,
and decisions can be averaged over what is unknown.
"""

from __future__ import annotations

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats

__all__ = ["BECOMES_ANOTHER", "look_likelihood", "transition"]

BECOMES_ANOTHER = 0.03
"""ε: the probability at each look."""


def look_likelihood(rates: FloatArray, gaps: FloatArray, changed: bool | BoolArray) -> FloatArray:
    """Likelihood of looks, ``gaps`` days after the ones before: a row each, a column per rate."""
    surely = -np.expm1(-rates * gaps[:, None])
    return as_floats(np.where(np.atleast_1d(changed)[:, None], surely, 1 - surely))


def transition(prior: FloatArray) -> FloatArray:
    """The transition matrix of the hidden Markov model. Probabilities times a look's likelihood,
    times this, are those after the look, up to a factor.

    >>> prior, rates = np.array([0.5, 0.5]), np.array([0.01, 1.0])
    >>> seen = look_likelihood(rates, np.array([1.0]), True)
    >>> after = (prior * seen) @ transition(prior)
    >>> (after / after.sum()).round(3).tolist()
    [[0.03, 0.97]]
    """
    return as_floats((1 - BECOMES_ANOTHER) * np.eye(len(prior)) + BECOMES_ANOTHER * prior)
