"""A time axis by the calendar, in UTC: hours if it spans a few days, else days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from headgate.views.plane import Axis

__all__ = ["CalendarAxis"]

_HOUR, _DAY = 3_600.0, 86_400.0
_FEW_DAYS = 3.0
_HOURS = (1 / 60, 1 / 12, 1 / 4, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0)
_DAYS = (1.0, 2.0, 7.0, 14.0, 28.0, 56.0, 112.0)


@dataclass(frozen=True, slots=True)
class CalendarAxis:
    """Of seconds since 1970."""

    start: float
    end: float
    by_day: bool = False
    """Always days."""

    @property
    def _unit(self) -> float:
        few = self.end - self.start <= _FEW_DAYS * _DAY
        return _HOUR if few and not self.by_day else _DAY

    def place(self, moment: float) -> float:
        """Position of a time on the axis."""
        return moment / self._unit

    def axis(self) -> Axis:
        low, high = self.place(self.start), self.place(self.end)
        steps = _HOURS if self._unit == _HOUR else _DAYS
        return Axis(low, max(high, low + 1e-9), "UTC", self._label, steps=steps)

    def _label(self, place: float) -> str:
        moment = datetime.fromtimestamp(place * self._unit, UTC)
        if self._unit == _HOUR and (moment.hour or moment.minute):
            return f"{moment:%H:%M}"
        return f"{moment.day} {moment:%b}"
