"""The servers that a collection knows, with their speeds at a given time."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headgate.bandwidth.server_speed import KnownServer
from headgate.control.catalog import Catalog
from headgate.features.crawl.request import CrawlRequest
from headgate.model.errors import UserMistake
from headgate.model.timetable import Calendar
from headgate.storage.catalog.sqlite import opened_catalog

__all__ = ["known_servers"]


def known_servers(folder: Path, wall: float, *, containing: str = "") -> list[KnownServer]:
    """Most recently measured first; ``wall`` is the time in seconds since 1970."""
    with opened_catalog(folder) as catalog:
        calendar = _calendar(catalog)
        now = calendar.moment(wall)
        return [
            KnownServer(server.address, server.hosts, server.speed, calendar, now)
            for server in catalog.servers()
            if server.speed.known and any(containing in n for n in (server.address, *server.hosts))
        ]


def _calendar(catalog: Catalog) -> Calendar:
    """The calendar of the newest crawl, by whose hours the estimates were made."""
    for run in catalog.runs():
        try:
            request = msgspec.json.decode(run.settings, type=CrawlRequest)
            if request.path or request.urls:  # else a survey's, or none: a crawl from Python
                return request.contents().budget.calendar
        except (msgspec.DecodeError, UserMistake):
            continue
    return Calendar()
