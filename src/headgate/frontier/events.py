"""Events for the frontier. URLs are absolute and in Headgate's normal form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from headgate.frontier.hash_set import Hashes
from headgate.frontier.scored_todo import Scores
from headgate.model.fetch import FailureKind

__all__ = [
    "Asked",
    "ErrorStatus",
    "Event",
    "FetchFailed",
    "Found",
    "NotNow",
    "PageFetched",
    "Recalled",
    "Redirected",
    "RobotsLearned",
    "Seeds",
    "SitemapRead",
    "SitemapsNamed",
    "Slots",
    "Stop",
    "Tick",
    "Turn",
]


class Seeds(msgspec.Struct, frozen=True, gc=False):
    """Where the crawl starts; no effect if repeated after a replay."""

    urls: Sequence[str]


class Asked(msgspec.Struct, frozen=True, gc=False):
    """Known pages that this visit is for, subject to the current scope. Those at depth 0, seeds and
    where seeds redirected to, add their hosts to the site."""

    urls: Sequence[str]
    depth: int


class NotNow(msgspec.Struct, frozen=True, gc=False):
    """Known URLs that are not for this visit, as hashes by `url_hashes`: they count as seen, so
    links to them are ignored."""

    hashes: Hashes


class Found(msgspec.Struct, frozen=True, gc=False):
    """URLs from sitemaps or links of other sites. Checked like links."""

    urls: Sequence[str]
    depth: int = 1
    scores: Scores | None = None
    """With a focus: of the URLs, from 0 to 1."""


class SitemapsNamed(msgspec.Struct, frozen=True, gc=False):
    """Sitemaps that robots.txt or an index names, on any host. Those on hosts of the site are
    fetched as pages are: at the host's pace, if robots.txt allows it."""

    urls: Sequence[str]
    by_index: bool = False


class SitemapRead(msgspec.Struct, frozen=True, gc=False):
    """A sitemap was fetched, and all that it names was passed on."""

    url: str
    answer_seconds: float = 0.0


class Recalled(msgspec.Struct, frozen=True, gc=False):
    """URLs known from earlier runs, subject to the current scope. They are not recorded: the caller
    passes them again after a replay."""

    urls: Sequence[str]
    depth: int
    unlinked: bool = False
    """All links were followed, and none led to these. They are fetched, but from now on nothing
    new is accepted: a crawl without this knowledge would not have found it."""
    scores: Scores | None = None
    """As in `Found`."""


class PageFetched(msgspec.Struct, frozen=True, gc=False):
    """A fetch ended with a page: any status that is neither a redirect nor an error."""

    url: str
    links: Sequence[str] = ()
    """Links that may be followed, without repetition."""
    digest: bytes = b""
    """Of the content; its first 64 bits are used. Empty: not to be compared."""
    scores: Scores | None = None
    """With a focus: of the links, from 0 to 1."""
    answer_seconds: float = 0.0
    """Time to first byte."""
    unfollowed: Sequence[str] = ()
    """Its other links: marked nofollow, or all links of a page that is."""
    unreadable: bool = False
    """Its links are not known, since reading it broke off."""


class Redirected(msgspec.Struct, frozen=True, gc=False):
    """A fetch ended with a redirect."""

    url: str
    target: str
    """Absolute; empty if it could not be parsed."""
    answer_seconds: float = 0.0


class ErrorStatus(msgspec.Struct, frozen=True, gc=False):
    """A fetch ended with a status of 400 or more."""

    url: str
    status: int
    retry_after: float | None = None
    """Retry-After in seconds from now, if the server sent one."""
    answer_seconds: float = 0.0


class FetchFailed(msgspec.Struct, frozen=True, gc=False):
    """A fetch ended without an answer."""

    url: str
    kind: FailureKind


class RobotsLearned(msgspec.Struct, frozen=True, gc=False):
    """The answer to LearnRobots, also if robots.txt could not be fetched."""

    origin: str
    allows: Callable[[str], bool]
    """Whether a URL of this origin may be fetched."""
    crawl_delay: float | None = None
    public: bool = False
    """The host is at a public address, so most likely not the user's own."""
    unreachable: bool = False
    """robots.txt could not be fetched, which forbids everything."""


class Slots(msgspec.Struct, frozen=True, gc=False):
    """How many fetches of this site may be in flight from now on."""

    count: int


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One fetch may start now: the answer to Ready, if fetches wait for turns."""


class Tick(msgspec.Struct, frozen=True, gc=False):
    """The time of a Wait has come."""


class Stop(msgspec.Struct, frozen=True, gc=False):
    """Start no more fetches; Done follows the end of the last one in flight."""

    reason: str


Event = (
    Seeds
    | Asked
    | NotNow
    | Found
    | SitemapsNamed
    | SitemapRead
    | Recalled
    | PageFetched
    | Redirected
    | ErrorStatus
    | FetchFailed
    | RobotsLearned
    | Slots
    | Turn
    | Tick
    | Stop
)
