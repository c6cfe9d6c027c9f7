"""Whether the running visits fill the line; if so, the next one is chosen later.

A running visit has its share of the line, however little it is worth. So if the budget is scarce,
few visits run at once, in the order of their value; if servers are slow, as many as it takes to
fill the line. A visit that is nearly over does not count, as the next one takes a moment to start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["VisitPace", "is_full", "visit_seconds"]

_LEAD_SECONDS = 3.0
_SHORTEST_VISIT, _LONGEST_VISIT = 5.0, 600.0


@dataclass(frozen=True, slots=True)
class VisitPace:
    """The pace of a running visit."""

    left: float
    """Bytes left."""
    pace: float
    """Bytes per second, by earlier visits to the site."""


def is_full(rate: float | None, visits: Iterable[VisitPace]) -> bool:
    """``rate`` is the budget's; None: unlimited.

    >>> is_full(1000.0, [VisitPace(50_000, 700), VisitPace(50_000, 400)])
    True
    >>> is_full(1000.0, [VisitPace(2_000, 700), VisitPace(50_000, 400)])
    False
    """
    if rate is None:
        return False
    return sum(visit.pace for visit in visits if visit.left > _LEAD_SECONDS * rate) >= rate


def visit_seconds(min_interval: float) -> float:
    """Most seconds of a visit, by its bytes; the rest is left to another visit. Short if pages may
    be fetched again soon, as then other pages are soon worth more."""
    return min(max(min_interval, _SHORTEST_VISIT), _LONGEST_VISIT)
