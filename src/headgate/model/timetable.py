"""A bandwidth timetable: which rate holds at which hour of the week.

Entries read like ``"Mon-Fri 08:00 300 KB/s"``, ``"19:00 2 MB/s"`` (every day) or
``"Sat 00:00 unlimited"``. Each sets the rate until the next one, round the week. Where an entry for
named days and one for every day have the same time, the named days win; two of the same kind are an
error.

Hours are local to the timetable's zone: at any instant the rate is that of the last entry at or
before the local time. When clocks are put forward, entries in the skipped hour take effect at the
jump; when they are put back, entries of the repeated hour take effect twice.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum
from zoneinfo import ZoneInfo

import msgspec

from headgate.model.errors import UserMistake, extra
from headgate.model.units import BytesPerSecond, format_rate, parse_rate

__all__ = ["Calendar", "DayKind", "LocalMoment", "RatePiece", "Timetable"]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = "|".join(_DAYS)
_ENTRY = re.compile(
    rf"\s*+(?:(?P<first>{_DAY})(?:-(?P<last>{_DAY}))?\s+)?"
    r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)\s++(?P<rate>.+)"
)


class RatePiece(msgspec.Struct, frozen=True):
    """From ``start`` seconds on, ``rate`` holds, until the next piece."""

    start: float
    rate: BytesPerSecond


class Timetable(msgspec.Struct, frozen=True):
    """Rates over the week. There is at least one turn; turns are sorted and at distinct times."""

    turns: tuple[tuple[int, time, BytesPerSecond], ...]
    """(weekday with Monday 0, local time, rate from then on), at most seven per entry."""
    zone: ZoneInfo

    @classmethod
    def parse(cls, entries: list[str], zone: ZoneInfo) -> Timetable:
        """Read a list of entries.

        >>> table = Timetable.parse(["Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s"], ZoneInfo("UTC"))
        >>> table.rate_at(datetime(2026, 11, 16, 12, tzinfo=UTC))  # a Monday
        300000.0
        >>> table.rate_at(datetime(2026, 11, 15, 12, tzinfo=UTC))  # Sunday: Saturday's 19:00 still
        2000000.0
        """
        if not entries:
            raise UserMistake("a timetable needs at least one entry, like '08:00 300 KB/s'")
        turns: dict[tuple[int, time], tuple[bool, BytesPerSecond]] = {}
        for entry in entries:
            for weekday, at, named, rate in _read_entry(entry):
                earlier = turns.get((weekday, at))
                if earlier is not None and earlier[0] == named:
                    raise UserMistake(
                        f"{entry!r} sets {_DAYS[weekday]} {at:%H:%M} a second time; keep one"
                    )
                if earlier is None or named:
                    turns[weekday, at] = (named, rate)
        if not any(rate for _, rate in turns.values()):
            raise UserMistake("no hour of the week allows any byte; give one entry a rate above 0")
        return cls(tuple((day, at, turns[day, at][1]) for day, at in sorted(turns)), zone)

    def __str__(self) -> str:
        return ", ".join(f"{_DAYS[d]} {at:%H:%M} {format_rate(rate)}" for d, at, rate in self.turns)

    def rate_at(self, moment: datetime) -> BytesPerSecond:
        """The rate that holds at an aware moment."""
        local = moment.astimezone(self.zone)
        place = bisect_right(self.turns, (local.weekday(), local.time()), key=lambda turn: turn[:2])
        return self.turns[place - 1][2]  # before the week's first turn, its last one holds

    def pieces(self, start: datetime) -> Iterator[RatePiece]:
        """The rates from an aware ``start`` on, endlessly; the first piece starts at 0.

        There is a piece for every turn, even if the rate stays the same, and one for a change of
        clocks if it changes the rate.
        """
        holding = self.rate_at(start)
        yield RatePiece(0.0, holding)
        latest = start
        day = start.astimezone(self.zone).date()
        turns = {turn[:2] for turn in self.turns}
        while True:
            for moment in sorted(self._moments(day)):
                local = moment.astimezone(self.zone)
                shown = (local.weekday(), local.time())
                rate = self.rate_at(moment)
                if moment > latest and (rate != holding or shown in turns):
                    latest, holding = moment, rate
                    yield RatePiece((moment - start).total_seconds(), rate)
            day += timedelta(days=1)

    def _moments(self, day: date) -> Iterator[datetime]:
        """The instants of a local day at which another rate may begin."""
        for weekday, at, _ in self.turns:
            if weekday == day.weekday():
                for fold in (0, 1):  # twice where clocks are put back; elsewhere the same
                    yield datetime.combine(day, at.replace(fold=fold), self.zone).astimezone(UTC)
        first, last = (
            datetime.combine(day + timedelta(days=k), time(), self.zone).astimezone(UTC)
            for k in (0, 1)
        )
        if self._offset(first) != self._offset(last):
            yield self._clock_change(first, last)

    def _offset(self, moment: datetime) -> timedelta | None:
        return moment.astimezone(self.zone).utcoffset()

    def _clock_change(self, before: datetime, after: datetime) -> datetime:
        """The instant between two at which the zone's offset changes, to the second."""
        while after - before > timedelta(seconds=1):
            middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
            if self._offset(middle) == self._offset(before):
                before = middle
            else:
                after = middle
        return after


def _read_entry(entry: str) -> Iterator[tuple[int, time, bool, BytesPerSecond]]:
    match = _ENTRY.fullmatch(entry.rstrip())
    if match is None:
        raise UserMistake(
            f"{entry!r} is not a timetable entry; write it like 'Mon-Fri 08:00 300 KB/s'"
        )
    at = time(int(match["hour"]), int(match["minute"]))
    rate = parse_rate(match["rate"])
    if match["first"] is None:
        days = list(range(7))
    else:
        first = _DAYS.index(match["first"])
        last = _DAYS.index(match["last"] or match["first"])
        days = [(first + k) % 7 for k in range((last - first) % 7 + 1)]
    for weekday in days:
        yield weekday, at, match["first"] is not None, rate


# Instants in local time: the minute of the day, and whether it is a working day or a holiday.
#
# How busy a server is follows the habits of its users. There are two kinds of day: weekends and,
# where a country is named, its public holidays are one; all other days are the other.


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

    >>> Calendar.from_zone(ZoneInfo("Africa/Nairobi"), "KE").moment(1_792_465_200)  # Mashujaa Day
    LocalMoment(minute=360.0, kind=<DayKind.HOLIDAY: 0>, instant=1792465200)
    """

    zone: ZoneInfo = field(default=ZoneInfo("UTC"))
    country: str = ""
    """Two letters (ISO 3166); empty: only weekends count as holidays."""
    _holidays: Container[date] = field(default=frozenset(), compare=False, repr=False)

    @classmethod
    def from_zone(cls, zone: ZoneInfo, country: str = "") -> Calendar:
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
