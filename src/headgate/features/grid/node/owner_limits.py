"""What the owner of a machine allows its node, whatever the manager says."""

from __future__ import annotations

import ctypes
import fnmatch
import os
import platform
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, time
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from headgate.crawling.ports import Clock
from headgate.features.grid.node.crawl import WorkerLeg
from headgate.features.grid.node.leased_tasks import LeasedTask, LeasedTasks, Stage
from headgate.features.grid.protocol import Inability
from headgate.fetching.client import FetcherSettings
from headgate.frontier.scope import is_web_url
from headgate.model.errors import UserMistake
from headgate.model.site import ORDERS, Site

__all__ = ["GuestRules", "Hours", "Idleness", "OwnerBounds", "step_back"]

_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*[-–]\s*([01]?\d|2[0-3]):([0-5]\d)")
_BUSY_PART = 0.25
"""If other programs use more than this share of all processors, the machine is in use."""
_IDLE_SECONDS = 60.0
"""How long the machine must have been idle."""
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_IDLE_CLASS = 3 << 13


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of the day, by local time; they may go past midnight."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> Hours:
        """
        >>> night = Hours.parse("19:00-07:00")
        >>> [night.has(time(hour)) for hour in (18, 19, 23, 6, 7)]
        [False, True, True, True, False]
        >>> Hours.parse("9:00-17:30").has(time(17, 29))
        True
        """
        found = _HOURS.fullmatch(text.strip())
        if found is None or found.group(1, 2) == found.group(3, 4):
            raise UserMistake(f"{text!r}: hours are written like '19:00-07:00'")
        begin, begin_minute, end, end_minute = map(int, found.groups())
        return cls(time(begin, begin_minute), time(end, end_minute))

    def has(self, moment: time) -> bool:
        if self.begin < self.end:
            return self.begin <= moment < self.end
        return moment >= self.begin or moment < self.end


@dataclass(slots=True)
class Idleness:
    """Whether the machine is idle; programs at low priority, such as nodes, do not count."""

    read: Callable[[], str] = lambda: Path("/proc/stat").read_text()
    _before: tuple[int, int] | None = None
    _busy_at: float | None = None

    def is_idle(self, now: float) -> bool:
        """Called every second or so. Busy at first."""
        busy, total = _processor_time(self.read())
        before, self._before = self._before, (busy, total)
        passed = 0 if before is None else total - before[1]
        if before is None or (passed and busy - before[0] > _BUSY_PART * passed):
            self._busy_at = now
        return self._busy_at is not None and now - self._busy_at >= _IDLE_SECONDS


@dataclass(slots=True)
class GuestRules:
    """Rules of a machine's owner for the node on it, whatever the manager says.

    The manager is trusted with URLs only: no task makes a node run code or read files of its
    machine, or fetch from other hosts than its owner allows.
    """

    only_hosts: tuple[str, ...] = ()
    """Patterns like ``*.example.org``; none: all hosts."""
    hours: Hours | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    idleness: Idleness | None = None

    def why_not_now(self, now: float, wall: float) -> str:
        """Why the node must rest now; empty: it may work."""
        local = datetime.fromtimestamp(wall, self.zone).time()
        if self.hours is not None and not self.hours.has(local):
            return f"not before {self.hours.begin:%H:%M}"
        if self.idleness is not None and not self.idleness.is_idle(now):
            return "the machine is in use"
        return ""

    def why_not(self, site: Site) -> str:
        """Why this node refuses a task; empty: it does not."""
        if site.order and site.order not in ORDERS:
            return f"{site.name}: its order needs code of the manager ({site.order})"
        if site.focus_pages:
            return f"{site.name}: its focus needs files of the manager"
        if not site.seeds or not all(map(is_web_url, site.seeds)):
            return f"{site.name}: it has seeds that are not URLs of http or https"
        why = next(filter(None, map(self.why_not_url, sorted(site.seeds))), "")
        return f"{site.name}: {why}" if why else ""

    def inability(self, site: Site) -> Inability:
        """What a node would need for a task that this one refuses."""
        allowed = not any(map(self.why_not_url, filter(is_web_url, site.seeds)))
        return Inability.RULES if allowed else Inability.HOST

    def why_not_url(self, url: str) -> str:
        """Why nothing is asked for at a URL; empty: it may be. Of every request, as a page may
        redirect, include or embed what is elsewhere."""
        if not self.only_hosts:
            return ""
        host = urlsplit(url).hostname or ""
        if any(fnmatch.fnmatchcase(host, pattern) for pattern in self.only_hosts):
            return ""
        return f"{host} is not one of the hosts allowed here"


def step_back() -> None:
    """Set the lowest priority for CPU and disk."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
    number = _IOPRIO_SET.get(platform.machine())
    if number is not None:
        ctypes.CDLL(None).syscall(number, 1, 0, _IDLE_CLASS)


def _processor_time(text: str) -> tuple[int, int]:
    """Ticks of all processors: those used by others, and the total.

    >>> _processor_time("cpu  10 500 20 1000 5 1 2 3 0 0\\ncpu0 1 1 1 1")
    (36, 1541)
    """
    user, nice, system, idle, wait, irq, soft, steal = map(int, text.split(maxsplit=9)[1:9])
    busy = user + system + irq + soft + steal
    return busy, busy + nice + idle + wait


_LEAST_FREE_BYTES = 50_000_000
"""With less space no task is claimed."""
_ANYWHERE = frozenset(("0.0.0.0/0", "::/0"))
_NOBODY = "no contact given"


@dataclass(slots=True)
class OwnerBounds:
    """What the owner of a machine allows its node now: time, disk space, rate, addresses."""

    rules: GuestRules
    disk_bytes: float
    allow_private: bool
    leased_tasks: LeasedTasks
    leg: WorkerLeg
    clock: Clock

    def why_not_now(self) -> str:
        """Why the node must rest; empty: it may work."""
        away = self.rules.why_not_now(self.clock.now(), self.clock.wall())
        if not away and self.leg.own_rate() == 0:
            away = "the budget allows nothing now"
        return away

    def room(self) -> int:
        """Bytes that may still be put on the disk."""
        left = self.disk_bytes - self.leased_tasks.used_bytes()
        return max(int(min(left, shutil.disk_usage(self.leased_tasks.home).free)), 0)

    def has_room(self, room: int) -> bool:
        return room >= _LEAST_FREE_BYTES

    def too_much(self) -> LeasedTask | None:
        """The task to give up if the disk is used up: the largest that is being crawled."""
        if self.leased_tasks.used_bytes() <= self.disk_bytes:
            return None
        crawled = list(self.leased_tasks.in_stage(Stage.CRAWLING))
        return max(crawled, key=lambda work: work.folder.used_bytes(), default=None)

    def settings(self, contact: str) -> FetcherSettings:
        """The contact sent to servers is that of the manager; which addresses may be reached is
        the owner's decision."""
        named = _ANYWHERE if self.allow_private else frozenset[str]()
        try:
            return FetcherSettings(contact or _NOBODY, named=named)
        except UserMistake:
            return FetcherSettings(_NOBODY, named=named)
