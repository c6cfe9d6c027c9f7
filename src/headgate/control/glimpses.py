"""A trickle for sites of which too little is known, while others have all of the line.

A deadline may depend on a site that nobody has seen a page of, whatever was told of its size, or
whose size lies within a wide range. Parked until its likely bytes are due, it would show too late
that they are many. So it gets a small part of the line, which the others give in proportion; what
it fetches is stored like every other page, and nothing is fetched twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["in_want", "with_glimpses"]

_PART = 0.03
"""Of the budget, for each."""
_AT_ONCE = 4
"""A trickle for hundreds would show nothing of any, and each page of one that is due late is taken
from those that are due soon."""


def with_glimpses(
    rates: Mapping[str, float], little_known: Sequence[str], budget: float
) -> dict[str, float]:
    """Rates of the same sum in which the first of ``little_known`` have their trickle.

    >>> rates = with_glimpses({"a": 60.0, "b": 40.0, "c": 0.0}, ["b", "c"], 100.0)
    >>> {site: round(rate, 1) for site, rate in rates.items()}
    {'a': 58.2, 'b': 38.8, 'c': 3.0}
    """
    waiting = in_want(rates, little_known, budget)
    if not waiting:
        return dict(rates)
    trickle = _PART * budget
    missing = sum(max(trickle - rates[site], 0.0) for site in waiting)
    given = sum(rate for site, rate in rates.items() if site not in waiting)
    if given <= missing:
        return dict(rates)
    kept = 1.0 - missing / given
    return {
        site: max(rate, trickle) if site in waiting else rate * kept for site, rate in rates.items()
    }


def in_want(rates: Mapping[str, float], little_known: Sequence[str], budget: float) -> list[str]:
    """Those that are to have a trickle and do not; ``little_known`` is in order of priority."""
    return [site for site in little_known if rates.get(site, 0.0) < _PART * budget][:_AT_ONCE]
