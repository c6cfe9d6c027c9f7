"""The budget: bytes per second over time, how many crawlers at once, and the objective."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.keeping import Staleness, VolumeBounds
from headgate.model.score_order import ScoreOrder
from headgate.model.site import NUMBERS, as_written, choice
from headgate.model.timetable import Calendar, Timetable
from headgate.model.units import Bytes, BytesPerSecond, format_size, parse_rate, parse_size

__all__ = ["DEFAULT_CRAWLERS", "SLOT_SECONDS", "Budget", "Objective", "Period", "Quota", "QuotaUse"]

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


SLOT_SECONDS = 900
"""Use is counted by quarters of an hour since 1970: every zone's midnight is the start of one."""

_SPENT = 16_000
"""A rest of fewer bytes counts as none: it is less than a page."""
_SECONDS_TO_SPEND = 2.0


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


class Quota(msgspec.Struct, frozen=True):
    """A byte quota: so much per day or month, by the calendar of a zone.

    A period begins at local midnight, a month on its first day. The last bytes of a quota are spent
    ever more slowly, never more than half of the rest in a second, so that bytes already in flight
    do not overrun it. When next to nothing is left, nothing may pass until the next period.

    ``bytes`` may pass in every period; positive.
    """

    bytes: Bytes
    period: Period
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, zone: ZoneInfo) -> Quota:
        """Read ``"20 GB/month"`` or ``"500 MB/day"``.

        >>> quota = Quota.parse("20 GB/month", ZoneInfo("Africa/Nairobi"))
        >>> str(quota), quota.resets(datetime(2026, 11, 16, tzinfo=UTC)).isoformat()
        ('20 GB per month', '2026-11-30T21:00:00+00:00')
        """
        amount, _, period = map(str.strip, text.rpartition("/"))
        if not amount or period.lower() not in list(Period):
            raise UserMistake(
                f"{text!r} is not a quota; write it like '20 GB/month' or '500 MB/day'"
            )
        size = parse_size(amount)
        if size <= 0:
            raise UserMistake("a quota of 0 lets no byte through; raise it or drop it")
        return cls(size, Period(period.lower()), zone)

    def __str__(self) -> str:
        return f"{format_size(self.bytes)} per {self.period}"

    def began(self, moment: datetime) -> datetime:
        """When the period of an aware moment began, in UTC."""
        return self._midnight(self._first_day(moment))

    def resets(self, moment: datetime) -> datetime:
        """When the next period begins, in UTC."""
        first = self._first_day(moment)
        if self.period is Period.DAY:
            return self._midnight(first + timedelta(days=1))
        return self._midnight((first + timedelta(days=31)).replace(day=1))

    def _first_day(self, moment: datetime) -> date:
        day = moment.astimezone(self.zone).date()
        return day if self.period is Period.DAY else day.replace(day=1)

    def _midnight(self, day: date) -> datetime:
        """The first instant of a local day, also where clocks are changed at midnight."""
        midnights = (
            datetime.combine(day, time(fold=fold), self.zone).astimezone(UTC) for fold in (0, 1)
        )
        return next(
            moment for moment in sorted(midnights) if moment.astimezone(self.zone).date() >= day
        )


class QuotaUse(msgspec.Struct, frozen=True):
    """The use of a quota at one moment."""

    quota: Quota
    used: float
    """Bytes that passed in this period."""
    moment: datetime

    @property
    def left(self) -> float:
        return max(self.quota.bytes - self.used, 0.0)

    @property
    def spent(self) -> bool:
        return self.left < min(_SPENT, self.quota.bytes / 2)

    @property
    def resets(self) -> datetime:
        return self.quota.resets(self.moment)

    @property
    def rate_bound(self) -> float:
        """Bytes per second that the rest of the quota allows now."""
        return 0.0 if self.spent else self.left / _SECONDS_TO_SPEND
