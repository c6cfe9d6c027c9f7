"""What a fleet keeps of its processes, and of the sites that run in them."""

from __future__ import annotations

from collections import deque

import msgspec
from msgspec.structs import replace

from headgate.crawling.progress import Progress
from headgate.grid.messages import Start, Stream, Word
from headgate.grid.spawning import Process
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.traffic.server_tally import ServerTally

__all__ = ["Activity", "Running", "Worker"]

_SILENT_SECONDS = 30.0
"""A process that says nothing for so long is stuck; it tells something four times a second."""
_SITES_NAMED = 3
_AT_ONCE_SECONDS = 0.001
"""A site whose time is up."""
_LATELY_SECONDS = 0.7
"""Some news long."""


class Activity:
    """What a process did in the last second or so, by what it told."""

    def __init__(self) -> None:
        self._told: deque[tuple[float, float, int]] = deque()
        """(when we heard, seconds of CPU, bytes)."""

    def note(self, now: float, cpu_seconds: float, carried: int) -> None:
        self._told.append((now, cpu_seconds, carried))
        while len(self._told) > 2 and now - self._told[1][0] >= _LATELY_SECONDS:
            self._told.popleft()

    def forget(self) -> None:
        """What it did is no measure of what it will do."""
        self._told.clear()

    @property
    def known(self) -> bool:
        return bool(self._told) and self._seconds >= _LATELY_SECONDS

    @property
    def cores(self) -> float:
        return (self._told[-1][1] - self._told[0][1]) / self._seconds

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return (self._told[-1][2] - self._told[0][2]) / self._seconds

    @property
    def _seconds(self) -> float:
        return self._told[-1][0] - self._told[0][0]


class Worker(msgspec.Struct):
    """A place for a process: when one dies, another takes it."""

    process: Process
    stream: Stream[Word]
    sites: set[str] = msgspec.field(default_factory=set)
    """Running there now."""
    servers: dict[str, ServerTally] = msgspec.field(default_factory=dict)
    servers_before: dict[str, ServerTally] = msgspec.field(default_factory=dict)
    """Of processes that died here, like ``carried_before``."""
    carried: int = 0
    carried_before: int = 0
    activity: Activity = msgspec.field(default_factory=Activity)
    silence: float = 0.0
    """Seconds since it was heard, as far as we listened: whoever stops all of us for a while, and
    lets us go on, finds nobody stuck."""
    cores: int = 1
    """That it was told to use."""
    greeted: bool = False
    """The process has begun to speak."""
    gone: bool = False

    @property
    def cores_busy(self) -> float | None:
        """That it keeps busy; None: it is too early to tell."""
        return self.activity.cores if self.activity.known else None

    @property
    def silent(self) -> bool:
        return not self.gone and self.silence > _SILENT_SECONDS

    def bury(self) -> None:
        """What the process that died did stays done."""
        self.carried_before += self.carried
        self.carried = 0
        for address, tally in self.servers.items():
            before = self.servers_before.get(address, ServerTally())
            self.servers_before[address] = before.plus(tally)
        self.servers = {}
        self.activity.forget()
        self.silence, self.greeted = 0.0, False

    def __str__(self) -> str:
        sites = sorted(self.sites)
        more = ", ..." if len(sites) > _SITES_NAMED else ""
        return f"{self.process.pid}, with {', '.join(sites[:_SITES_NAMED]) or 'no site'}{more}"


class Running(msgspec.Struct):
    """A task from its start until its end is heard."""

    task: Task
    worker: Worker
    began: float
    """By the clock."""
    rate: float = 0.0
    progress: Progress | None = None
    """The newest; None: its process has told nothing of it."""
    stop: str | None = None
    """Why it was told to stop; None: it was not."""
    restarts: int = 0
    target: Worker | None = None
    """Where it goes on as soon as its process has handed it over; None: it stays."""
    before: Progress | None = None
    """How it stood when it was last handed over; None: it never was, or a process died since."""

    def order(self, now: float) -> Start:
        """For a process that takes it up now."""
        site = self.task.site
        if site.max_time is None or now == self.began:
            return Start(self.task, self.began)
        left = Seconds(max(site.max_time - (now - self.began), _AT_ONCE_SECONDS))
        return Start(replace(self.task, site=replace(site, max_time=left)), self.began)

    def told(self, report: Progress) -> None:
        """What its process says of it, with what others did before. One that took it up counts from
        its journal on, where not every byte is found that came."""
        report.restarts = self.restarts
        if self.before is not None:
            report.wire_bytes += self.before.wire_bytes - report.earlier_wire_bytes
            report.earlier_wire_bytes = self.before.earlier_wire_bytes
            report.started = self.before.started
        self.progress = report
