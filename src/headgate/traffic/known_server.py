"""A server as earlier runs measured it, with the hour it is there now."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.local_time import Calendar, DayKind, LocalMoment
from headgate.traffic.server_speed import ServerSpeed

__all__ = ["KnownServer"]


@dataclass(frozen=True, slots=True)
class KnownServer:
    """One address, measured at least once."""

    address: str
    hosts: tuple[str, ...]
    speed: ServerSpeed
    calendar: Calendar
    now: LocalMoment

    @property
    def rate_now(self) -> float:
        return self.speed.rate(self.now) or 0.0

    @property
    def working_day(self) -> tuple[float, ...]:
        return self.speed.hourly(DayKind.WORKING)

    @property
    def holiday(self) -> tuple[float, ...]:
        return self.speed.hourly(DayKind.HOLIDAY)

    @property
    def today(self) -> tuple[float, ...]:
        """The hours of a day like this one."""
        return self.speed.hourly(self.now.kind)
