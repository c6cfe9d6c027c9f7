"""Look rates with an upper bound per host.

    Σ_{i of host h} ρ_i ≤ R_h  beside  Σ ρ_i ≤ R

Solve without the hosts' bounds; fix hosts above theirs at the bound, divided by the same rule among
their pages; repeat for the rest (Kolobov, Peres, Lubetzky and Horvitz, *Optimal freshness crawl
under politeness constraints*, SIGIR 2019). Exact, since the rates of the others only grow; at most
one round per host."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import FloatArray

__all__ = ["Rule", "polite_rates"]

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
