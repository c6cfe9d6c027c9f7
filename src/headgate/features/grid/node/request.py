"""The options with which an owner lends a machine, parsed into a `WorkerJob`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.features.grid.node.owner_limits import GuestRules, Hours, Idleness
from headgate.features.grid.node.worker import WorkerJob
from headgate.model.budget import DEFAULT_CRAWLERS, Budget, Quota
from headgate.model.errors import UserMistake
from headgate.model.timetable import Timetable
from headgate.model.units import BytesPerSecond, parse_rate, parse_size

__all__ = ["NodeRequest", "local_zone"]

_LOCAL_TIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"


@dataclass(frozen=True, slots=True)
class NodeRequest:
    spool: Path
    slots: int = DEFAULT_CRAWLERS
    bandwidth: str | None = None
    quota: str | None = None
    make_way: bool = False
    disk: str = "10GB"
    only_hosts: tuple[str, ...] = ()
    hours: str | None = None
    when_idle: bool = False
    until_idle: bool = False
    allow_private: bool = False

    def job(self, node: str) -> WorkerJob:
        zone = local_zone()
        budget = Budget(
            read_bandwidth(self.bandwidth or "unlimited", zone),
            self.slots,
            quota=None if self.quota is None else Quota.parse(self.quota, zone),
            make_way=self.make_way,
        )
        rules = GuestRules(
            tuple(pattern.lower() for pattern in self.only_hosts),
            None if self.hours is None else Hours.parse(self.hours),
            zone,
            Idleness() if self.when_idle else None,
        )
        return WorkerJob(
            node,
            self.spool,
            budget=budget,
            rules=rules,
            disk_bytes=parse_size(self.disk),
            allow_private=self.allow_private,
            until_idle=self.until_idle,
        )


def read_bandwidth(text: str, zone: ZoneInfo) -> BytesPerSecond | Timetable:
    """A rate, or a timetable with a comma between its entries.

    >>> read_bandwidth("500 KB/s", ZoneInfo("UTC"))
    500000.0
    >>> print(read_bandwidth("Mon 08:00 100 KB/s, Mon 19:00 2 MB/s", ZoneInfo("UTC")))
    Mon 08:00 100 KB/s, Mon 19:00 2 MB/s
    """
    if "," in text or ":" in text:
        return Timetable.parse([entry.strip() for entry in text.split(",")], zone)
    rate = parse_rate(text)
    if rate <= 0:
        raise UserMistake("a node needs a bandwidth above 0, like '500KB/s'")
    return rate


def local_zone() -> ZoneInfo:
    """The time zone of this machine."""
    name = os.environ.get("TZ", "").lstrip(":")
    if not name and _LOCAL_TIME.is_symlink():
        name = str(_LOCAL_TIME.resolve()).partition(_ZONES)[2]
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
