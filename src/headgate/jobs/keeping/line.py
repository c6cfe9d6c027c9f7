"""Whether the visits under way fill the line: then the next one is better chosen later.

A visit that is begun has its share of the line, however little it is worth beside others. So where
the budget is what is scarce, few visits are under way, one after the other by what they are worth;
where servers are slow, as many as it takes to use the line. A visit that is nearly over counts no
more, for the next one takes a moment to begin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["VisitPace", "is_full", "visit_seconds"]

_LEAD_SECONDS = 3.0
_SHORTEST_VISIT, _LONGEST_VISIT = 5.0, 600.0


@dataclass(frozen=True, slots=True)
class VisitPace:
    """Of one that is under way."""

    left: float
    """Bytes."""
    pace: float
    """Bytes per second, as visits to its site were before."""


def is_full(rate: float | None, visits: Iterable[VisitPace]) -> bool:
    """``rate`` is the budget's; None: it has no bound.

    >>> is_full(1000.0, [VisitPace(50_000, 700), VisitPace(50_000, 400)])
    True
    >>> is_full(1000.0, [VisitPace(2_000, 700), VisitPace(50_000, 400)])
    False
    """
    if rate is None:
        return False
    return sum(visit.pace for visit in visits if visit.left > _LEAD_SECONDS * rate) >= rate


def visit_seconds(min_interval: float) -> float:
    """So long a visit may take by its bytes; what is left is another's. Where pages may be asked
    again within seconds, what is worth most is another page soon."""
    return min(max(min_interval, _SHORTEST_VISIT), _LONGEST_VISIT)
