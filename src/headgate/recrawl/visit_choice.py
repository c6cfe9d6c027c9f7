"""Which pages one visit to a site asks for: the page that is due, and those worth riding along.

A connection costs bytes and time, so a page that is not worth a visit of its own may be worth a
request on one. The best page pays for the connection; ν is what its look is worth per byte. Every
other page of the site with V/c of at least half of ν rides along, the best first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import FloatArray

__all__ = ["RIDING", "Visit", "choose_visit"]

RIDING = 0.5
"""Of ν: chosen on real changes among 0.25, 0.5 and 1; ages are the least at 0.5."""


@dataclass(frozen=True, slots=True)
class Visit:
    site: int
    pages: npt.NDArray[np.int_]
    """Numbers of the pages, the best first."""
    expected_bytes: float


def choose_visit(
    values: FloatArray,
    costs: FloatArray,
    sites: npt.NDArray[np.int_],
    connection_bytes: float,
) -> Visit | None:
    """The visit that is worth most per byte; None: no look is worth anything.

    ``values`` of looks (0 where a page may not be asked), their expected ``costs`` in bytes, and
    the site of each page. O(pages).

    >>> values, costs = np.array([8.0, 3.0, 1.0, 7.0]), np.array([100.0, 100.0, 100.0, 100.0])
    >>> choose_visit(values, costs, np.array([0, 0, 0, 1]), connection_bytes=60)
    Visit(site=0, pages=array([0, 1]), expected_bytes=260.0)
    """
    per_byte = values / (costs + connection_bytes)
    best = int(np.argmax(per_byte))
    price = float(per_byte[best])
    if price <= 0:
        return None
    of_site = np.flatnonzero(sites == sites[best])
    worth = values[of_site] / costs[of_site]
    riding = of_site[(worth >= RIDING * price) | (of_site == best)]
    order = np.argsort(-values[riding] / costs[riding], kind="stable")
    pages = riding[order]
    return Visit(int(sites[best]), pages, float(costs[pages].sum()) + connection_bytes)
