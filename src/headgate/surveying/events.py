"""Events for the surveyor. Each command ends in exactly one of these; ticks come at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.fetch import FailureKind
from headgate.surveying.answers import RobotsAnswer
from headgate.surveying.kind_queue import Asked

__all__ = [
    "Event",
    "Failed",
    "Landed",
    "PageCame",
    "Redirected",
    "Refused",
    "RobotsLearned",
    "Tick",
]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed, if nothing else."""


@dataclass(frozen=True, slots=True)
class RobotsLearned:
    """The rules in robots.txt of an origin, or that it is unavailable."""

    server: int
    origin: str
    rules: RobotsAnswer


@dataclass(frozen=True, slots=True)
class PageCame:
    server: int
    asked: Asked
    wire_bytes: int
    links: Sequence[tuple[str, str]]
    """With their anchor texts."""


@dataclass(frozen=True, slots=True)
class Redirected:
    server: int
    asked: Asked
    wire_bytes: int
    target: str
    """Empty: it is invalid."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An error status."""

    server: int
    asked: Asked
    wire_bytes: int
    status: int
    retry_after: float | None = None
    """Seconds, if the server said so."""


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer."""

    server: int
    asked: Asked
    wire_bytes: int
    kind: FailureKind


Landed = PageCame | Redirected | Refused | Failed
Event = Tick | RobotsLearned | Landed
