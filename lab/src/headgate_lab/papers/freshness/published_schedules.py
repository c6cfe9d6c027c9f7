"""Published schedules of looks at pages, which the product does not use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.look_value import look_value
from headgate.model.keeping import Staleness

__all__ = [
    "Signalling",
    "azar_rates",
    "best_periods",
    "lambda_crawl_probabilities",
    "lambda_crawl_rates",
    "polite_rates",
]


def azar_rates(rates: FloatArray, importances: FloatArray, capacity: float) -> FloatArray:
    """The best rates of looks at random (Poisson) times, for freshness.

        max Σ μ_i ρ_i/(ρ_i + λ_i),   Σ ρ_i ≤ R:    ρ_i = max(0, √(μ_i λ_i/ν) − λ_i)

    Sorted by μ/λ, the pages with ρ > 0 are a prefix with √ν = Σ√(μλ) / (R + Σλ) over it (Azar,
    Horvitz, Lubetzky, Peres and Shahaf, *Tractable near-optimal policies for crawling*, 2018). O(n
    log n).

    Looks per day at each page, ``capacity`` in all.

    >>> azar_rates(np.array([1.0, 1.0]), np.array([1.0, 1.0]), 4.0).tolist()
    [2.0, 2.0]
    """
    order = np.argsort(-importances / rates, kind="stable")
    roots = np.cumsum(np.sqrt(importances * rates)[order])
    prices = roots / (capacity + np.cumsum(rates[order]))
    # A page belongs to the prefix as long as its own √(μ/λ) is above the price with it in.
    active = np.sqrt(importances / rates)[order] > prices
    last = int(np.flatnonzero(active)[-1])
    return as_floats(np.maximum(np.sqrt(importances * rates) / prices[last] - rates, 0.0))


# LambdaCrawl: look rates by which every page is fetched.
#
# A copy that missed k changes costs the harmonic number H(k); with looks at rate ρ that is
# μ ln((ρ + λ)/ρ) on average, which grows without bound as ρ falls. The optimum under Σ ρ_i ≤ R is
#
#     ρ_i = [ −λ_i + √(λ_i² + 4 μ_i λ_i/ν) ] / 2
#
# (Kolobov, Peres, Lu and Horvitz, *Staying up to date with online content changes using
# reinforcement learning for scheduling*, NeurIPS 2019). If servers signal every change, look after
# it with probability p_i = min(1, μ_i/(ν λ_i)). Both ν by bisection.


_STEPS = 200


def lambda_crawl_rates(rates: FloatArray, importances: FloatArray, capacity: float) -> FloatArray:
    """Looks per day at each page, ``capacity`` in all.

    >>> lambda_crawl_rates(np.ones(2), np.ones(2), 4.0).round(6).tolist()
    [2.0, 2.0]
    """

    def at(price: float) -> FloatArray:
        return as_floats((np.sqrt(rates**2 + 4 * importances * rates / price) - rates) / 2)

    return _within(at, capacity)


def lambda_crawl_probabilities(
    rates: FloatArray, importances: FloatArray, capacity: float
) -> FloatArray:
    """Probability of a look after a change, if every change is signalled; all 1 if the capacity
    suffices."""

    def at(price: float) -> FloatArray:
        return as_floats(np.minimum(1.0, importances / (price * rates)))

    if float(rates.sum()) <= capacity:
        return np.ones_like(rates)
    return as_floats(_within(lambda price: at(price) * rates, capacity) / rates)


def _within(at: Callable[[float], FloatArray], capacity: float) -> FloatArray:
    """``at(price)`` for the price at which it sums up to the capacity; it falls with the price."""
    low, high = 1e-30, 1e30
    for _ in range(_STEPS):
        middle = float(np.sqrt(low * high))
        if float(at(middle).sum()) > capacity:
            low = middle
        else:
            high = middle
    return at(high)


_PERIOD_STEPS = 90
_LONGEST = 1e9
"""In units of 1/λ: as good as never."""


def best_periods(
    staleness: Staleness,
    rates: FloatArray,
    importances: FloatArray,
    costs: FloatArray,
    capacity: float,
    shortest: FloatArray | None = None,
) -> FloatArray:
    """The optimal period for each page, given change rates and capacity.

        max Σ μ_i F(λ_i, τ_i)   or   min Σ μ_i A(λ_i, τ_i),   with Σ c_i/τ_i ≤ R,  τ_i ≥ shortest_i

    for freshness (Cho and Garcia-Molina, *Effective page refresh policies*, 2003) and age. A look
    must be worth the same per cost everywhere: V(λ_i, τ_i)·μ_i/c_i = ν (`look_value`). V grows with
    τ, so ν is found by bisection, and each τ within it. For freshness, a page with μ/(cλ) ≤ ν is
    never fetched: its period is infinite. O(pages · steps²).

    ``capacity`` is cost per day; ``shortest`` bounds the periods, as politeness may.

    >>> one = np.ones(2)
    >>> best_periods(Staleness.FRESHNESS, one, one, one, capacity=4.0).round(6).tolist()
    [0.5, 0.5]
    """
    least = np.zeros_like(rates) if shortest is None else shortest
    low, high = -60.0, 60.0
    for _ in range(_PERIOD_STEPS):
        middle = (low + high) / 2
        periods = _periods(staleness, rates, np.exp(middle) * costs / importances, least)
        if float((costs / periods).sum()) > capacity:
            low = middle
        else:
            high = middle
    return _periods(staleness, rates, np.exp(high) * costs / importances, least)


def _periods(
    staleness: Staleness, rates: FloatArray, worth: FloatArray, shortest: FloatArray
) -> FloatArray:
    """The periods at which a look is worth ``worth``; infinite if it never is."""
    low, high = np.log(1e-9 / rates), np.log(_LONGEST / rates)
    for _ in range(_PERIOD_STEPS):
        middle = (low + high) / 2
        enough = look_value(staleness, rates, np.exp(middle)) >= worth
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    periods = np.exp(high)
    never = periods >= 0.99 * _LONGEST / rates
    return as_floats(np.maximum(np.where(never, np.inf, periods), shortest))


# Look rates with an upper bound per host.
#
#     Σ_{i of host h} ρ_i ≤ R_h  beside  Σ ρ_i ≤ R
#
# Solve without the hosts' bounds; fix hosts above theirs at the bound, divided by the same rule
# among their pages; repeat for the rest (Kolobov, Peres, Lubetzky and Horvitz, *Optimal freshness
# crawl under politeness constraints*, SIGIR 2019). Exact, since the rates of the others only grow;
# at most one round per host.


Rule = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Change rates, importances, capacity → rates of looks: `azar_rates`, `lambda_crawl_rates`."""


def polite_rates(
    rule: Rule,
    rates: FloatArray,
    importances: FloatArray,
    capacity: float,
    hosts: npt.NDArray[np.int_],
    host_capacities: FloatArray,
) -> FloatArray:
    """``hosts`` numbers each page's host; ``host_capacities`` are looks per day by that number."""
    found = np.zeros_like(rates)
    open_pages = np.ones(len(rates), dtype=bool)
    left = capacity
    while open_pages.any() and left > 0:
        found[open_pages] = rule(rates[open_pages], importances[open_pages], left)
        asked = np.bincount(hosts[open_pages], found[open_pages], len(host_capacities))
        over = np.flatnonzero(asked > host_capacities * (1 + 1e-12))
        if not len(over):
            break
        for host in over:
            of_host = open_pages & (hosts == host)
            bound = float(host_capacities[host])
            found[of_host] = rule(rates[of_host], importances[of_host], bound) if bound else 0.0
            open_pages &= ~of_host
            left -= bound
    return found


@dataclass(frozen=True, slots=True)
class Signalling:
    """Signals of change, such as lastmod of sitemaps and feeds.

    A share r of the changes is signalled, and false signals come at rate f. After τ with k signals
    the copy is fresh with probability

        e^{−(1−r)λτ} · (f / (rλ + f))^k

    which is that of a page of rate (1 − r)λ not fetched for

        τ_eff = τ + k · ln((rλ + f)/f) / ((1 − r)λ)

    so the index uses that rate and time (idea: Busa-Fekete and others, 2025). Without signals, r =
    0 and τ_eff = τ. As r → 1 and f → 0 a page is fetched when it signals.

    How a page's signals relate to its changes.
    """

    share_told: float
    """r, below 1."""
    false_rate: float
    """f, above 0, per day."""

    def silent_rate(self, rate: float) -> float:
        """The rate of changes without a signal."""
        return (1 - self.share_told) * rate

    def effective_time(self, rate: float, since: float, signals: int) -> float:
        """Time since the last look that is equivalent without signals.

        >>> Signalling(0.0, 1.0).effective_time(2.0, 5.0, signals=3)
        5.0
        >>> Signalling(0.5, 0.1).effective_time(2.0, 0.0, signals=1) > 2
        True
        """
        told = self.share_told * rate + self.false_rate
        return since + signals * math.log(told / self.false_rate) / self.silent_rate(rate)

    def probability_fresh(self, rate: float, since: float, signals: int) -> float:
        effective = self.effective_time(rate, since, signals)
        return math.exp(-self.silent_rate(rate) * effective)
