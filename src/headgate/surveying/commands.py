"""Commands of the surveyor."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.surveying.kind_queue import Asked

__all__ = ["Command", "Done", "Fetch", "LearnRobots", "Wait"]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetch this page now. Ends with exactly one of the surveyor's events."""

    server: int
    asked: Asked
    most_bytes: int
    """What the server's cap leaves."""


@dataclass(frozen=True, slots=True)
class LearnRobots:
    """Fetch robots.txt of this origin; the server waits for `RobotsLearned`."""

    server: int
    origin: str
    most_requests: int
    """Redirects included: what the server's cap leaves beside one page."""
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can start before this time unless an event comes first."""

    until: float


@dataclass(frozen=True, slots=True)
class Done:
    reason: str


Command = Fetch | LearnRobots | Wait | Done
