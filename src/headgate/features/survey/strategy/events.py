"""The words of the surveyor: events for it, commands from it, results of fetches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headgate.features.survey.strategy.server_tree import ChosenPage
from headgate.frontier.events import Done, Tick, Wait
from headgate.model.fetch import FailureKind

__all__ = [
    "Allows",
    "Command",
    "Event",
    "FetchPage",
    "FetchRobots",
    "Harvest",
    "Landed",
    "PageCame",
    "PageFailed",
    "PageMoved",
    "PageRefused",
    "RobotsAnswer",
    "RobotsCame",
]


# Events for the surveyor. Each command ends in exactly one of these; ticks come at any time.


@dataclass(frozen=True, slots=True)
class RobotsCame:
    """The rules in robots.txt of an origin, or that it is unavailable."""

    server: int
    origin: str
    rules: RobotsAnswer


@dataclass(frozen=True, slots=True)
class PageCame:
    server: int
    asked: ChosenPage
    wire_bytes: int
    links: Sequence[tuple[str, str]]
    """With their anchor texts."""


@dataclass(frozen=True, slots=True)
class PageMoved:
    server: int
    asked: ChosenPage
    wire_bytes: int
    target: str
    """Empty: it is invalid."""


@dataclass(frozen=True, slots=True)
class PageRefused:
    """An error status."""

    server: int
    asked: ChosenPage
    wire_bytes: int
    status: int
    retry_after: float | None = None
    """Seconds, if the server said so."""


@dataclass(frozen=True, slots=True)
class PageFailed:
    """No answer."""

    server: int
    asked: ChosenPage
    wire_bytes: int
    kind: FailureKind


Landed = PageCame | PageMoved | PageRefused | PageFailed
Event = Tick | RobotsCame | Landed


# Results of fetching robots.txt and pages in a survey.


Allows = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """robots.txt of one origin, and the cost of fetching it."""

    allows: Allows
    crawl_delay: float = 0.0
    requests: int = 1
    wire_bytes: int = 0
    trouble: str = ""
    """Why it is unavailable, so that nothing may be requested; empty: it is available."""


@dataclass(slots=True)
class Harvest:
    """What one page brought."""

    new_hosts: list[str] = field(default_factory=list)
    """External hosts that were not linked to before."""
    unwanted: set[str] = field(default_factory=set)
    """Hosts that were ignored, because the server has named too many already."""


# Commands of the surveyor.


@dataclass(frozen=True, slots=True)
class FetchPage:
    """Fetch this page now. Ends with exactly one of the surveyor's events."""

    server: int
    asked: ChosenPage
    most_bytes: int
    """What the server's cap leaves."""


@dataclass(frozen=True, slots=True)
class FetchRobots:
    """Fetch robots.txt of this origin; the server waits for `RobotsCame`."""

    server: int
    origin: str
    most_requests: int
    """Redirects included: what the server's cap leaves beside one page."""
    most_bytes: int


Command = FetchPage | FetchRobots | Wait | Done
