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
    """Where the user wants to start; told again after a replay, it changes nothing."""

    urls: Sequence[str]


class Asked(msgspec.Struct, frozen=True, gc=False):
    """Known pages that this visit is for. They are judged by today's scope; a page that no link
    led to, because a seed redirected to it, brings its host into the site."""

    urls: Sequence[str]
    depth: int


class NotNow(msgspec.Struct, frozen=True, gc=False):
    """URLs that are known and not this visit's, by what `url_hashes` gives for them: met already,
    so that links do not bring them back."""

    hashes: Hashes


class Found(msgspec.Struct, frozen=True, gc=False):
    """URLs from elsewhere than a page: sitemaps, other sites' links. Judged like links."""

    urls: Sequence[str]
    depth: int = 1
    scores: Scores | None = None
    """With a focus: of the URLs, from 0 to 1."""


class SitemapsNamed(msgspec.Struct, frozen=True, gc=False):
    """Sitemaps that robots.txt or an index names, whosever they are. Those of the site's own hosts
    are fetched as pages are: at the host's pace, under its robots rules."""

    urls: Sequence[str]
    by_index: bool = False


class SitemapRead(msgspec.Struct, frozen=True, gc=False):
    """The fetch of a sitemap ended well, and all that it names was told."""

    url: str
    answer_seconds: float = 0.0


class Recalled(msgspec.Struct, frozen=True, gc=False):
    """URLs that earlier runs knew. They are judged by today's scope and not recorded: whoever
    knows them tells of them again after a replay."""

    urls: Sequence[str]
    depth: int
    unlinked: bool = False
    """All links were followed, and none led to these. They are asked for, but from now on nothing
    new is let in: a crawl that knew nothing would not have come here."""
    scores: Scores | None = None
    """As of `Found`."""


class PageFetched(msgspec.Struct, frozen=True, gc=False):
    """A fetch ended with a page: any status that is neither a redirect nor an error."""

    url: str
    links: Sequence[str] = ()
    """What the page allows to follow, each once."""
    digest: bytes = b""
    """Of the content, 64 good bits or more in front; empty: not to be compared."""
    scores: Scores | None = None
    """With a focus: of the links, from 0 to 1."""
    answer_seconds: float = 0.0
    """What the server took to begin its answer."""
    unfollowed: Sequence[str] = ()
    """Its other links: marked nofollow, or all of a page that is."""


class Redirected(msgspec.Struct, frozen=True, gc=False):
    """A fetch ended with a status of redirection."""

    url: str
    target: str
    """Absolute; empty when the server's cannot be understood."""
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
    """The answer to LearnRobots; when robots.txt cannot be had, what follows from that."""

    origin: str
    allows: Callable[[str], bool]
    """Whether a URL of this origin may be fetched."""
    crawl_delay: float | None = None
    public: bool = False
    """The host is at a public address: a stranger's, most likely."""
    unreachable: bool = False
    """robots.txt could not be had, which forbids everything."""


class Slots(msgspec.Struct, frozen=True, gc=False):
    """How many fetches of this site may be under way at once, from now on."""

    count: int


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One fetch may begin at once: the answer to Ready, where fetches wait for turns."""


class Tick(msgspec.Struct, frozen=True, gc=False):
    """Time has passed: the moment of a Wait has come."""


class Stop(msgspec.Struct, frozen=True, gc=False):
    """Begin no more fetches; Done comes with the last that is under way."""

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
