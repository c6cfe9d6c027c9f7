"""The budget: bytes per second over time, how many crawlers at once, and the objective."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from headgate.model.as_written import NUMBERS, as_written, choice
from headgate.model.errors import UserMistake
from headgate.model.keeping import Staleness, VolumeBounds
from headgate.model.local_time import Calendar
from headgate.model.quota import Quota
from headgate.model.score_order import ScoreOrder
from headgate.model.timetable import Timetable
from headgate.model.units import BytesPerSecond, parse_rate

__all__ = ["DEFAULT_CRAWLERS", "Budget", "Objective"]

DEFAULT_CRAWLERS = 5


class Objective(StrEnum):
    """What a crawl minimises once deadlines are taken care of."""

    MAKESPAN = "makespan"
    """The end of the last site."""
    TOTAL_TIME = "total-time"
    """The sum over sites of the time from start to end."""


class Budget(msgspec.Struct, frozen=True):
    """What the crawl may use. Rates and quotas may be given as people write them, "1 MB/s"."""

    bandwidth: BytesPerSecond | Timetable
    crawlers: int = DEFAULT_CRAWLERS
    """Most sites crawled at once: m in the papers."""
    objective: Objective = Objective.MAKESPAN
    calendar: Calendar = Calendar()
    """The zone and holidays by which servers are busy or idle."""
    quota: Quota | None = None
    """Bytes per day or month, in addition to the rate; None: no quota."""
    policy: str = ""
    """The published name of the policy that sets a crawl's rates; empty: Headgate's own."""
    order: ScoreOrder | None = None
    """All sites share one queue in this order; None: each site has its own queue and rate."""
    make_way: bool = False
    """Whether the crawl yields to other users of the line."""
    make_way_floor: BytesPerSecond | None = None
    """The rate it never goes below; None: a hundredth of the bandwidth, or of the line."""
    staleness: Staleness = Staleness.AGE
    """What a keeper minimises."""
    volume: VolumeBounds = VolumeBounds()
    processes: int = 1
    """Worker processes."""
    contact: str = ""
    """The user's URL or mail address; sent to servers in the user agent."""

    def __post_init__(self) -> None:
        as_written(self, "Budget", (float, int, Timetable), {"bandwidth": self._read_bandwidth})
        as_written(self, "Budget", NUMBERS, {"make_way_floor": parse_rate})
        as_written(self, "Budget", (Quota, type(None)), {"quota": self._read_quota})
        as_written(self, "Budget", (ScoreOrder, type(None)), {"order": ScoreOrder.named})
        as_written(self, "Budget", Objective, {"objective": choice(Objective)})

    @property
    def timetable_zone(self) -> str | None:
        """The timetable's time zone; None: the bandwidth is constant."""
        return str(self.bandwidth.zone) if isinstance(self.bandwidth, Timetable) else None

    def _read_bandwidth(self, value: Any) -> BytesPerSecond | Timetable:
        if isinstance(value, list):
            return Timetable.parse(value, self.calendar.zone)
        rate = parse_rate(value)
        if not rate:
            raise UserMistake("a bandwidth of 0 carries nothing; give a rate like '1 MB/s'")
        return rate

    def _read_quota(self, value: Any) -> Quota:
        if not isinstance(value, str):
            raise UserMistake(f"{value!r} is not a quota; write it like '20 GB/month'")
        return Quota.parse(value, self.calendar.zone)
