"""The catalog: what past runs learned of sites and servers. Its values, and the port to it.

It holds sites and runs, never pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from headgate.bandwidth.server_speed import ServerSpeed

__all__ = ["Catalog", "KeptPromise", "Outcome", "Run", "Server", "SiteState", "Visit"]


class Outcome(StrEnum):
    """How a run ended, if it did."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    ABANDONED = "abandoned"
    """Given up by the user."""


class Run(msgspec.Struct, frozen=True):
    stamp: str
    """The name of its folder."""
    started: float
    finished: float | None
    outcome: Outcome
    settings: str
    """The request of the run, as JSON."""


class Visit(msgspec.Struct, frozen=True):
    """A visit of one site. Times are seconds since 1970."""

    site: str
    run: str
    started: float
    finished: float
    seconds: float
    """Time spent crawling, without pauses."""
    pages: int
    payload_bytes: int
    wire_bytes: int
    alpha: float | None = None
    """Zhu 2020, Eq. 17; None: not measured."""
    complete: bool = True
    """False: it was stopped with URLs left."""
    errors: Mapping[str, int] = msgspec.field(default_factory=dict)
    """By failure kind, or by status such as "404"."""
    visit: int = 0
    """Its number among the site's visits in a keeper's volume; 0: the run has only one."""
    why: str = ""
    """Why a keeper made it: index, promise, first or user."""
    asked: int = 0
    """Pages requested; the next four say what was found."""
    changed: int = 0
    same: int = 0
    new: int = 0
    gone: int = 0
    saved_bytes: int = 0
    """Not transferred because pages were unchanged."""


class Server(msgspec.Struct, frozen=True):
    """An address and the hosts that were found at it."""

    address: str
    hosts: tuple[str, ...]
    speed: ServerSpeed


class SiteState(msgspec.Struct, frozen=True):
    """A site of a keeper between two visits. Times are seconds since 1970."""

    site: str
    visit: int
    """Number of the last visit."""
    asked: float
    """Time of the last visit."""
    outlook: bytes = b""
    """What the board knows of it, as `headgate.features.keep.kept_memory` encodes it; empty: to be
    computed again."""
    costs: tuple[float, float, float] | None = None
    """Measured costs: bytes of a connection and of a request, seconds of a fetch."""
    paused_until: float = 0.0
    down: int = 0
    """Consecutive visits without any answer."""
    suspicions: int = 0
    """Consecutive visits whose results were implausible."""
    trouble: str = ""
    """A message for the user; empty: none."""
    trouble_since: float = 0.0

    @property
    def paused_by_user(self) -> bool:
        """If it is paused: otherwise Headgate itself waits, and the trouble says why."""
        return not (self.down or self.suspicions)


class KeptPromise(msgspec.Struct, frozen=True):
    """A promise that every page of a site is fetched again by ``due``."""

    site: str
    due: float
    settled: float
    """When it was kept, or found to be late."""

    @property
    def late_seconds(self) -> float:
        return max(self.settled - self.due, 0.0)


class Catalog(Protocol):
    """Every change is durable when the call returns."""

    def begin_run(self, stamp: str, started: float, settings: str) -> None:
        """A run starts, or is resumed."""
        ...

    def end_run(self, stamp: str, finished: float, outcome: Outcome) -> None: ...

    def runs(self) -> Sequence[Run]:
        """The newest first."""
        ...

    def record_visits(self, visits: Iterable[Visit]) -> None:
        """Visits of a run that was begun here, all or none; replaces earlier records of the same
        visits."""
        ...

    def record_kept(self, visit: Visit, state: SiteState, promise: KeptPromise | None) -> None:
        """A keeper's visit, the site's state after it, and the promise that it settled: all or
        none."""
        ...

    def put_site_state(self, state: SiteState) -> None: ...

    def site_states(self) -> Mapping[str, SiteState]:
        """By site."""
        ...

    def promises(self, since: float) -> Sequence[KeptPromise]:
        """Those settled since then, the oldest first."""
        ...

    def forget_before(self, moment: float) -> None:
        """Delete older promises and line use, and a keeper's visits in runs that ended earlier,
        except the last visit of each site."""
        ...

    def history(self, site: str, limit: int = 10) -> Sequence[Visit]:
        """The last visits of a site, the newest first."""
        ...

    def visits_of(self, run: str) -> Sequence[Visit]:
        """All visits of a run, by site and number, without their errors."""
        ...

    def add_line_use(self, bytes_by_slot: Mapping[int, int]) -> None:
        """Add wire bytes since the last call, by quarter of an hour."""
        ...

    def line_use(self, first: int) -> Mapping[int, int]:
        """Wire bytes by quarter of an hour, from the quarter ``first`` on."""
        ...

    def record_servers(self, servers: Iterable[Server]) -> None:
        """Replaces the speeds of these servers; hosts are added to those of an address."""
        ...

    def server(self, address: str) -> ServerSpeed | None:
        """The speed of the server at an address; None: unknown."""
        ...

    def address(self, host: str) -> str | None:
        """The last known address of a host; None: unknown."""
        ...

    def servers(self) -> Sequence[Server]:
        """All servers, the last measured first."""
        ...
