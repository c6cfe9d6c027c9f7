"""The budget: bytes per second over time, how many crawlers at once, and to what end."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from headgate.model.keeping import Staleness, VolumeBounds
from headgate.model.local_time import Calendar
from headgate.model.quota import Quota
from headgate.model.timetable import Timetable
from headgate.model.units import BytesPerSecond

__all__ = ["DEFAULT_CRAWLERS", "Budget", "Objective"]

DEFAULT_CRAWLERS = 5


class Objective(StrEnum):
    """What a crawl makes small once no deadline suffers by it."""

    MAKESPAN = "makespan"
    """The end of the last site."""
    TOTAL_TIME = "total-time"
    """The sum over sites of the time from start to end."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What the crawl may use."""

    bandwidth: BytesPerSecond | Timetable
    crawlers: int = DEFAULT_CRAWLERS
    """Sites crawled at once at the most: m in the papers."""
    objective: Objective = Objective.MAKESPAN
    calendar: Calendar = field(default=Calendar())
    """Whose hours and holidays servers are busy by."""
    quota: Quota | None = None
    """Bytes per day or month, beside the rate; None: no bound."""
    make_way: bool = False
    """Whether the crawl steps back when somebody else needs the line."""
    make_way_floor: BytesPerSecond | None = None
    """What it keeps all the same; None: a hundredth of the bandwidth, or of the line."""
    staleness: Staleness = Staleness.AGE
    """What a keeper makes small."""
    volume: VolumeBounds = field(default=VolumeBounds())
