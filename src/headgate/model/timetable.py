"""A bandwidth timetable: which rate holds at which hour of the week.

Entries read like ``"Mon-Fri 08:00 300 KB/s"``, ``"19:00 2 MB/s"`` (every day) or
``"Sat 00:00 unlimited"``. Each sets the rate from its moment until the next one, round the week.
Where an entry for named days and one for every day fall on the same moment, the named days win;
two of the same kind on one moment are a mistake.

Hours are local to the timetable's zone, daylight saving included: an hour that is skipped or
repeated in spring or autumn shortens or lengthens the piece it lies in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from headgate.model.errors import UserMistake
from headgate.model.units import BytesPerSecond, format_rate, parse_rate

__all__ = ["RatePiece", "Timetable"]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = "|".join(_DAYS)
_ENTRY = re.compile(
    rf"\s*(?:(?P<first>{_DAY})(?:-(?P<last>{_DAY}))?\s+)?"
    r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)\s+(?P<rate>.+?)\s*"
)


@dataclass(frozen=True, slots=True)
class RatePiece:
    """From ``start`` seconds on, ``rate`` holds, until the next piece."""

    start: float
    rate: BytesPerSecond


@dataclass(frozen=True, slots=True)
class Timetable:
    """Rates over the week. Holds at least one turn; turns are sorted, moments distinct."""

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
        return next(self.pieces(moment)).rate

    def pieces(self, start: datetime) -> Iterator[RatePiece]:
        """The rates from an aware ``start`` on, without end; the first piece starts at 0."""
        holding: RatePiece | None = None
        for moment, rate in self._turns_from(start):
            seconds = (moment - start).total_seconds()
            if seconds <= 0:
                holding = RatePiece(0.0, rate)
                continue
            if holding is not None:
                yield holding
            holding = RatePiece(seconds, rate)

    def _turns_from(self, start: datetime) -> Iterator[tuple[datetime, BytesPerSecond]]:
        """All turns as instants in order, from one that holds at ``start`` on."""
        # Eight days back holds every turn once, whatever daylight saving did to one of the days.
        day = start.astimezone(self.zone).date() - timedelta(days=8)
        while True:
            turns_of_day = [
                (datetime.combine(day, at, self.zone).astimezone(UTC), rate)
                for weekday, at, rate in self.turns
                if weekday == day.weekday()
            ]
            # Two local times in a skipped hour can swap as instants: the later entry still wins.
            yield from sorted(turns_of_day, key=lambda turn: turn[0])
            day += timedelta(days=1)


def _read_entry(entry: str) -> Iterator[tuple[int, time, bool, BytesPerSecond]]:
    match = _ENTRY.fullmatch(entry)
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
