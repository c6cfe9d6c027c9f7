"""A trickle for sites of which too little is known, while others have all of the line.

A deadline may depend on a site that nobody has seen a page of, whatever was told of its size, or
whose size lies within a wide range. Parked until its likely bytes are due, it would show too late
that they are many. So it gets a small part of the line, which the others give in proportion; what
it fetches is stored like every other page, and nothing is fetched twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["with_glimpses"]

_PART = 0.03
"""Of the budget, for each."""
_MOST = 0.12
"""Of the budget, for all of them."""


def with_glimpses(
    rates: Mapping[str, float], little_known: Collection[str], budget: float
) -> dict[str, float]:
    """Rates of the same sum in which each of ``little_known`` has its trickle.

    >>> rates = with_glimpses({"a": 60.0, "b": 40.0, "c": 0.0}, ["b", "c"], 100.0)
    >>> {site: round(rate, 1) for site, rate in rates.items()}
    {'a': 58.2, 'b': 38.8, 'c': 3.0}
    """
    waiting = [site for site in little_known if rates[site] < _PART * budget]
    if not waiting:
        return dict(rates)
    trickle = min(_PART, _MOST / len(waiting)) * budget
    missing = sum(max(trickle - rates[site], 0.0) for site in waiting)
    given = sum(rate for site, rate in rates.items() if site not in waiting)
    if given <= missing:
        return dict(rates)
    kept = 1.0 - missing / given
    return {
        site: max(rate, trickle) if site in waiting else rate * kept for site, rate in rates.items()
    }
