"""A small rate for sites of which too little is known, while others have the rest of the line.

A deadline may depend on a site of which no page was fetched yet, or whose size is very uncertain.
Parked until its likely bytes are due, it would show too late that there are more. So it gets a
small part of the line, which the others give up in proportion; its pages are stored like all
others, and nothing is fetched twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["in_want", "with_glimpses"]

_PART = 0.03
"""Part of the budget for each such site."""
_AT_ONCE = 4
"""A trickle for hundreds would show nothing of any, and each page of one that is due late is taken
from those that are due soon."""


def with_glimpses(
    rates: Mapping[str, float], little_known: Sequence[str], budget: float
) -> dict[str, float]:
    """Rates with the same sum in which the first of ``little_known`` have their small rate.

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
    """The sites that should have a small rate and have less; ``little_known`` is by priority."""
    return [site for site in little_known if rates.get(site, 0.0) < _PART * budget][:_AT_ONCE]
