"""The processes of one machine: what each does, and which site to move to another."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.engine.process_messages import Process, Start, Stream, Word
from headgate.model.task import Task
from headgate.model.units import Seconds

__all__ = ["ProcessLoad", "RunningTask", "SiteMove", "WorkerProcess", "best_move", "worth_a_look"]


# What a fleet knows of its processes, and of the sites that run in them.


_SILENT_SECONDS = 30.0
"""A process that is silent for so long is stuck; it normally sends news four times a second."""
_SITES_NAMED = 3
_AT_ONCE_SECONDS = 0.001
"""Deadline of a site whose time is up."""
_LATELY_SECONDS = 0.7
"""Some intervals of news."""


class Activity:
    """What a process did in the last second or so, by its news."""

    def __init__(self) -> None:
        self._told: deque[tuple[float, float, int]] = deque()
        """(time of arrival, CPU seconds, bytes)."""

    def record(self, now: float, cpu_seconds: float, carried: int) -> None:
        self._told.append((now, cpu_seconds, carried))
        while len(self._told) > 2 and now - self._told[1][0] >= _LATELY_SECONDS:
            self._told.popleft()

    def forget(self) -> None:
        """Start measuring anew."""
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


class WorkerProcess(msgspec.Struct):
    """A slot for a process: if it dies, another takes its place."""

    process: Process
    stream: Stream[Word]
    sites: set[str] = msgspec.field(default_factory=set)
    """Running there."""
    servers: dict[str, ServerTally] = msgspec.field(default_factory=dict)
    servers_before: dict[str, ServerTally] = msgspec.field(default_factory=dict)
    """Totals of processes that died here, like ``carried_before``."""
    carried: int = 0
    carried_before: int = 0
    activity: Activity = msgspec.field(default_factory=Activity)
    silence: float = 0.0
    """Seconds since its last news, counted while we listened: after all processes were suspended
    together, none counts as stuck."""
    cores: int = 1
    """Number of cores it may use."""
    greeted: bool = False
    """The process has sent its first message."""
    gone: bool = False
    begun: float = -math.inf
    """When the process took the place of one that had died."""

    @property
    def cores_busy(self) -> float | None:
        """Number of cores it keeps busy; None: too early to tell."""
        return self.activity.cores if self.activity.known else None

    @property
    def silent(self) -> bool:
        return not self.gone and self.silence > _SILENT_SECONDS

    def bury(self) -> None:
        """Keep the totals of the process that died."""
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


class RunningTask(msgspec.Struct):
    """A task from its start until its end is reported."""

    task: Task
    worker: WorkerProcess
    began: float
    """Time of its start."""
    rate: float = 0.0
    progress: Progress | None = None
    """The newest progress; None: none was reported."""
    stop: str | None = None
    """Why it was stopped; None: it was not."""
    restarts: int = 0
    blamed: int = 0
    """How often its process died soon after the time before, while it was crawling."""
    target: WorkerProcess | None = None
    """The process that it moves to once it is released; None: it stays."""
    before: Progress | None = None
    """Progress when it last moved; None: it never did, or a process died since."""

    def order(self, now: float) -> Start:
        """The order for a process that continues it now."""
        site = self.task.site
        if site.max_time is None or now == self.began:
            return Start(self.task, self.began)
        left = Seconds(max(site.max_time - (now - self.began), _AT_ONCE_SECONDS))
        return Start(replace(self.task, site=replace(site, max_time=left)), self.began)

    def update(self, report: Progress) -> None:
        """Progress including earlier processes. One that continues a site counts from its journal,
        which does not have every byte received."""
        report.restarts = self.restarts
        if self.before is not None:
            report.wire_bytes += self.before.wire_bytes - report.earlier_wire_bytes
            report.earlier_wire_bytes = self.before.earlier_wire_bytes
            report.started = self.before.started
        self.progress = report


# Which site to move when one process of a machine has nothing to do and another has too much.
#
# The size of a site is not known before it is crawled, so sites are divided by count, and the parts
# turn out unequal: a move is worth what two processes then do at the same time. That is the smaller
# of what goes and what stays, so the best site to move has nearest to half of the work left. What
# it costs is a stop, the journal read again and new connections, some tenths of a second.


_WORTH_SECONDS = 0.5
"""Done beside each other; what a move costs, with as much again for estimates that are wrong."""
_BUSY, _IDLE = 0.6, 0.3
"""Cores. Between them nobody gives and nobody takes, so no site goes to and fro."""


class ProcessLoad(msgspec.Struct, frozen=True):
    """A process and what runs in it."""

    left: Mapping[str, float]
    """By site, bytes that are likely still to come."""
    fixed: frozenset[str] = frozenset()
    """Sites that stay where they are."""
    cores: float | None = None
    """That it keeps busy; None: it is too early to tell."""
    rate: float = 0.0
    """Bytes per second that it gets through."""

    @property
    def idle(self) -> bool:
        return _idle(len(self.left), self.cores)

    @property
    def busy(self) -> bool:
        return _busy(len(self.left), self.cores) and self.rate > 0


class SiteMove(msgspec.Struct, frozen=True):
    site: str
    source: int
    """Places by their index."""
    target: int


def _idle(sites: int, cores: float | None) -> bool:
    return not sites or (cores is not None and cores < _IDLE)


def _busy(sites: int, cores: float | None) -> bool:
    return sites > 1 and (cores or 0.0) >= _BUSY


def worth_a_look(places: Sequence[tuple[int, float | None]]) -> bool:
    """Whether there may be a move at all, by sites and busy cores of each place: of thousands of
    sites, what each has left is not added up again and again."""
    return any(_idle(*place) for place in places) and any(_busy(*place) for place in places)


def best_move(places: Sequence[ProcessLoad]) -> SiteMove | None:
    """The one that lets the most be done at the same time; None: none is worth it.

    >>> best_move([ProcessLoad({"a": 9e6, "b": 4e6, "c": 1e6}, cores=1.0, rate=1e6),
    ...     ProcessLoad({})])
    SiteMove(site='a', source=0, target=1)
    """
    idle = [index for index, place in enumerate(places) if place.idle]
    if not idle:
        return None
    target = min(idle, key=lambda index: len(places[index].left))
    best, most_seconds = None, _WORTH_SECONDS
    for source, place in enumerate(places):
        whole = sum(place.left.values())
        for site in sorted(place.left.keys() - place.fixed) if place.busy else ():
            together = min(place.left[site], whole - place.left[site])
            if together > most_seconds * place.rate:
                best, most_seconds = SiteMove(site, source, target), together / place.rate
    return best
