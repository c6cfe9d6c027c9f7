"""What the frontier is told. URLs are absolute and in Headgate's one normal form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headgate.model.fetch import FailureKind

__all__ = [
    "ErrorStatus",
    "Event",
    "FetchFailed",
    "Found",
    "PageFetched",
    "Redirected",
    "RobotsLearned",
    "Seeds",
    "Slots",
    "Stop",
    "Tick",
]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where the user wants to start; told again after a replay, it changes nothing."""

    urls: Sequence[str]


@dataclass(frozen=True, slots=True)
class Found:
    """URLs from elsewhere than a page: sitemaps, other sites' links. Judged like links."""

    urls: Sequence[str]
    depth: int = 1


@dataclass(frozen=True, slots=True)
class PageFetched:
    """A fetch ended with a page: any status that is neither a redirect nor an error."""

    url: str
    links: Sequence[str] = ()
    """What the page allows to follow, each once."""
    digest: bytes = b""
    """Of the content, 64 good bits or more in front; empty: not to be compared."""


@dataclass(frozen=True, slots=True)
class Redirected:
    """A fetch ended with a status of redirection."""

    url: str
    target: str
    """Absolute; empty when the server's cannot be understood."""


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """A fetch ended with a status of 400 or more."""

    url: str
    status: int
    retry_after: float | None = None
    """Retry-After in seconds from now, if the server sent one."""


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """A fetch ended without an answer."""

    url: str
    kind: FailureKind


@dataclass(frozen=True, slots=True)
class RobotsLearned:
    """The answer to LearnRobots; when robots.txt cannot be had, what follows from that."""

    origin: str
    allows: Callable[[str], bool]
    """Whether a URL of this origin may be fetched."""
    crawl_delay: float | None = None


@dataclass(frozen=True, slots=True)
class Slots:
    """How many fetches of this site may be under way at once, from now on."""

    count: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: the moment of a Wait has come."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Begin no more fetches; Done comes with the last that is under way."""

    reason: str


Event = (
    Seeds
    | Found
    | PageFetched
    | Redirected
    | ErrorStatus
    | FetchFailed
    | RobotsLearned
    | Slots
    | Tick
    | Stop
)
