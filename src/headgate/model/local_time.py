"""Instants in local time: the minute of the day, and whether it is a working day or a holiday.

How busy a server is follows the habits of its users. There are two kinds of day: weekends and,
where a country is named, its public holidays are one; all other days are the other.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from zoneinfo import ZoneInfo

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.extras import extra

__all__ = ["Calendar", "DayKind", "LocalMoment"]

_SATURDAY = 5


class DayKind(IntEnum):
    """w in Diligenti et al. 2004."""

    HOLIDAY = 0
    WORKING = 1


class LocalMoment(msgspec.Struct, frozen=True):
    """An instant in the local time of some place."""

    minute: float
    """Of the local day, 0 to 1440."""
    kind: DayKind
    instant: float = 0.0
    """Seconds since 1970."""

    def at(self, hour: int, kind: DayKind) -> LocalMoment:
        """Another hour of a day of that kind."""
        return LocalMoment(60.0 * hour, kind, self.instant)


@dataclass(frozen=True, slots=True)
class Calendar:
    """A time zone and a country's holidays.

    >>> Calendar.of(ZoneInfo("Africa/Nairobi"), "KE").moment(1_792_465_200)  # Mashujaa Day
    LocalMoment(minute=360.0, kind=<DayKind.HOLIDAY: 0>, instant=1792465200)
    """

    zone: ZoneInfo = field(default=ZoneInfo("UTC"))
    country: str = ""
    """Two letters (ISO 3166); empty: only weekends count as holidays."""
    _holidays: Container[date] = field(default=frozenset(), compare=False, repr=False)

    @classmethod
    def of(cls, zone: ZoneInfo, country: str = "") -> Calendar:
        return cls(zone, country, _holidays_of(country) if country else frozenset())

    def moment(self, instant: float) -> LocalMoment:
        """The local time of an instant; unique also when clocks are put forward or back."""
        local = datetime.fromtimestamp(instant, self.zone)
        minute = local.hour * 60 + local.minute + (local.second + local.microsecond / 1e6) / 60
        return LocalMoment(minute, self.kind(local.date()), instant)

    def kind(self, day: date) -> DayKind:
        free = day.weekday() >= _SATURDAY or day in self._holidays
        return DayKind.HOLIDAY if free else DayKind.WORKING


def _holidays_of(country: str) -> Container[date]:
    holidays = extra("holidays", "public holidays", "holidays")
    try:
        known: Container[date] = holidays.country_holidays(country)
    except NotImplementedError:
        raise UserMistake(
            f"the holidays of {country!r} are not known; drop it, or name another country like 'KE'"
        ) from None
    return known
