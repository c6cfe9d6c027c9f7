"""The servers of a collection, at this hour of the place they were measured by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from headgate.cli.crawl_request import CrawlRequest
from headgate.cli.opened_catalog import opened_catalog
from headgate.model.errors import UserMistake
from headgate.model.local_time import Calendar, DayKind, LocalMoment
from headgate.storage.catalog import Catalog
from headgate.traffic.server_speed import ServerSpeed

__all__ = ["KnownServer", "known_servers"]


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


def known_servers(folder: Path, wall: float, *, containing: str = "") -> list[KnownServer]:
    """The last measured first; ``wall`` is the time, in seconds since 1970."""
    with opened_catalog(folder) as catalog:
        calendar = _calendar(catalog)
        now = calendar.moment(wall)
        return [
            KnownServer(server.address, server.hosts, server.speed, calendar, now)
            for server in catalog.servers()
            if server.speed.known and any(containing in n for n in (server.address, *server.hosts))
        ]


def _calendar(catalog: Catalog) -> Calendar:
    """Of the newest run: whose hours the estimates are by."""
    for run in catalog.runs():
        try:
            return msgspec.json.decode(run.settings, type=CrawlRequest).contents().budget.calendar
        except (msgspec.DecodeError, UserMistake):
            continue  # a crawl from Python keeps no request
    return Calendar()
