"""The catalog: what past runs taught about sites and servers. Its values, and the port to it.

It holds sites and runs, never pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from headgate.traffic.server_speed import ServerSpeed

__all__ = ["Catalog", "KeptPromise", "Outcome", "Run", "Server", "SiteState", "Visit"]


class Outcome(StrEnum):
    """How far a run came."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    ABANDONED = "abandoned"
    """By the user, before its end."""


@dataclass(frozen=True, slots=True)
class Run:
    stamp: str
    """The name of its folder."""
    started: float
    finished: float | None
    outcome: Outcome
    settings: str
    """JSON: what the run was asked to do."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to one site. Times are seconds since 1970."""

    site: str
    run: str
    started: float
    finished: float
    seconds: float
    """Spent crawling, pauses left out."""
    pages: int
    payload_bytes: int
    wire_bytes: int
    alpha: float | None = None
    """Zhu 2020, Eq. 17; None: not measured."""
    complete: bool = True
    """False: stopped with URLs left to do."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """By failure kind, or by status such as "404"."""
    visit: int = 0
    """Which of the site's, in a volume of a keeper; 0: the run has one."""
    why: str = ""
    """A keeper made it: index, promise, first or user."""
    asked: int = 0
    """Pages looked at, and what was found of them."""
    changed: int = 0
    same: int = 0
    new: int = 0
    gone: int = 0
    saved_bytes: int = 0
    """That pages not modified did not need."""

    @property
    def mean_page_bytes(self) -> float | None:
        return self.payload_bytes / self.pages if self.pages else None


@dataclass(frozen=True, slots=True)
class Server:
    """An address and the hosts that were found at it."""

    address: str
    hosts: tuple[str, ...]
    speed: ServerSpeed


@dataclass(frozen=True, slots=True)
class SiteState:
    """A site of a keeper between two visits. Times are seconds since 1970."""

    site: str
    visit: int
    """The last that was made."""
    asked: float
    """When."""
    outlook: bytes = b""
    """What the board knows of it, as `headgate.jobs.keeping.kept_memory` encodes it; empty: to be
    made anew."""
    costs: tuple[float, float, float] | None = None
    """Learned of its servers: bytes of a connection and of a request, seconds of a look."""
    paused_until: float = 0.0
    down: int = 0
    """Visits in a row to which nobody answered."""
    suspicions: int = 0
    """Visits in a row that were not believed."""
    trouble: str = ""
    """What a person should know, in words."""
    trouble_since: float = 0.0


@dataclass(frozen=True, slots=True)
class KeptPromise:
    """Every page of a site was to be looked at again by ``due``."""

    site: str
    due: float
    settled: float
    """When it was, or when it was found to be late."""

    @property
    def late_seconds(self) -> float:
        return max(self.settled - self.due, 0.0)


class Catalog(Protocol):
    """Every change is durable when the call returns."""

    def begin_run(self, stamp: str, started: float, settings: str) -> None:
        """A run starts, or goes on after an interruption."""
        ...

    def end_run(self, stamp: str, finished: float, outcome: Outcome) -> None: ...

    def runs(self) -> Sequence[Run]:
        """The newest first."""
        ...

    def record_visits(self, visits: Iterable[Visit]) -> None:
        """Of a run that was begun here, all or none; replaces what was recorded of the same visits
        before."""
        ...

    def record_kept(self, visit: Visit, state: SiteState, promise: KeptPromise | None) -> None:
        """A keeper's visit, what it leaves of the site, and the promise that it settled: all or
        none."""
        ...

    def put_site_state(self, state: SiteState) -> None: ...

    def site_states(self) -> Mapping[str, SiteState]:
        """By site."""
        ...

    def promises(self, since: float) -> Sequence[KeptPromise]:
        """Settled since then, the oldest first."""
        ...

    def forget_before(self, moment: float) -> None:
        """Promises and line use that are older, and a keeper's visits, but for the last to each
        site, in runs that ended earlier."""
        ...

    def history(self, site: str, limit: int = 10) -> Sequence[Visit]:
        """The last visits to a site, the newest first."""
        ...

    def visits_of(self, run: str) -> Sequence[Visit]:
        """All that a run recorded, in the order of sites and numbers; without their errors."""
        ...

    def add_line_use(self, bytes_by_slot: Mapping[int, int]) -> None:
        """What came over the line since the last time, by quarter of an hour."""
        ...

    def line_use(self, first: int) -> Mapping[int, int]:
        """Bytes by quarter of an hour, from the quarter ``first`` on."""
        ...

    def record_servers(self, servers: Iterable[Server]) -> None:
        """As known now, in place of what was; hosts are added to those an address had."""
        ...

    def server(self, address: str) -> ServerSpeed | None:
        """What is known of an address; None: nothing."""
        ...

    def address(self, host: str) -> str | None:
        """Where a host was found last; None: it never was."""
        ...

    def servers(self) -> Sequence[Server]:
        """All of them, the last measured first."""
        ...
