"""The catalog: what past runs taught about sites and servers. Its values, and the port to it.

It holds sites and runs, never pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from headgate.traffic.server_speed import ServerSpeed

__all__ = ["Catalog", "Outcome", "Run", "Server", "Visit"]


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
    """One run's visit to one site. Times are seconds since 1970."""

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

    @property
    def mean_page_bytes(self) -> float | None:
        return self.payload_bytes / self.pages if self.pages else None


@dataclass(frozen=True, slots=True)
class Server:
    """An address and the hosts that were found at it."""

    address: str
    hosts: tuple[str, ...]
    speed: ServerSpeed


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

    def history(self, site: str, limit: int = 10) -> Sequence[Visit]:
        """The last visits to a site, the newest first."""
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
