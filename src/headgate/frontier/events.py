"""The words of the frontier: events for it, commands from it, entries that must survive a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from headgate.frontier.priority_queue import Scores
from headgate.frontier.seen_urls import Hashes
from headgate.frontier.url_filter import Refusals
from headgate.model.fetch import FailureKind

__all__ = [
    "FINISHED",
    "NAMED_BY_INDEX",
    "NAMED_BY_SITE",
    "NEEDED",
    "Asked",
    "Command",
    "Done",
    "ErrorStatus",
    "Event",
    "Fetch",
    "FetchFailed",
    "Found",
    "GiveUp",
    "JournalEntry",
    "LearnRobots",
    "NotNow",
    "PageFetched",
    "Ready",
    "Recalled",
    "Record",
    "Redirected",
    "RobotsLearned",
    "Seeds",
    "SitemapRead",
    "SitemapsNamed",
    "Slots",
    "Stop",
    "Tick",
    "Turn",
    "UrlOutcome",
    "Wait",
    "left_by",
]


# Events for the frontier. URLs are absolute and in Headgate's normal form.


class Seeds(msgspec.Struct, frozen=True, gc=False):
    """Where the crawl starts; no effect if repeated after a replay."""

    urls: Sequence[str]


class Asked(msgspec.Struct, frozen=True, gc=False):
    """Known pages that this visit is for, subject to the current scope. Those at depth 0, seeds and
    where seeds redirected to, add their hosts to the site. Those out of scope are recorded."""

    urls: Sequence[str]
    depth: int
    needed: bool = False
    """As in `Found`."""


class NotNow(msgspec.Struct, frozen=True, gc=False):
    """Known URLs that are not for this visit, as hashes by `url_hashes`: they count as seen, so
    links to them are ignored."""

    hashes: Hashes


class Found(msgspec.Struct, frozen=True, gc=False):
    """URLs from sitemaps or links of other sites, or page requisites. Checked like links."""

    urls: Sequence[str]
    depth: int = 1
    scores: Scores | None = None
    """With a focus: of the URLs, from 0 to 1."""
    needed: bool = False
    """They are page requisites, for which the site has other bounds."""


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
    held_bytes: int = 0
    """Rough memory size of ``allows``."""


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


# Commands that the frontier issues.


NO_SITEMAP, NAMED_BY_SITE, NAMED_BY_INDEX = range(3)
"""Sitemaps of an index are read, but not a further index among them."""

FINISHED = "finished"
"""The reason of a Done because nothing is left to do."""


class Fetch(msgspec.Struct, frozen=True, gc=False):
    """Fetch this URL now: its host is ready. Answered by exactly one event with this URL."""

    url: str
    depth: int
    tries: int = 0
    """Earlier fetches of it that failed."""
    busy_answers: int = 0
    """Earlier fetches of it that a busy host refused."""
    hops: int = 0
    """Redirects that led here."""
    level: int = 0
    """Of its score; 0 is the best, and the only one without a focus."""
    sitemap: int = NO_SITEMAP
    """If it is a sitemap, SitemapRead takes the place of PageFetched."""

    @property
    def untouched(self) -> bool:
        """True for a page that is neither a retry nor the target of a redirect."""
        return not (self.tries or self.busy_answers or self.hops or self.sitemap)

    def redirected(self, target: str) -> Fetch:
        """The same for the target of a redirect, whose tries are its own."""
        return replace(self, url=target, tries=0, busy_answers=0, hops=self.hops + 1)


class LearnRobots(msgspec.Struct, frozen=True, gc=False):
    """Fetch robots.txt of this origin; its URLs wait for RobotsLearned."""

    origin: str


class Record(msgspec.Struct, frozen=True, gc=False):
    """Make this durable, together with what was fetched."""

    entry: JournalEntry


class GiveUp(msgspec.Struct, frozen=True, gc=False):
    """This host gets no more requests; its URLs are dropped."""

    host: str
    reason: str


class Ready(msgspec.Struct, frozen=True, gc=False):
    """This could be fetched now, given a turn; only if fetches wait for turns. Valid until the next
    event."""

    url: str
    level: int


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Nothing can start before this time unless an event comes first. Replaces the last Wait."""

    until: float


class Done(msgspec.Struct, frozen=True, gc=False):
    """No fetch is under way, and none will be started."""

    reason: str


Command = Fetch | Ready | LearnRobots | Record | GiveUp | Wait | Done


# Journal entries: what must survive a crash, for the caller to make durable.
#
# The frontier emits one entry for each URL that has ended, with the new URLs found there, and one
# for each batch of seeds. The caller stores an entry atomically with its page: after a crash either
# both are there, or neither is and the URL is fetched again.
#
# The frontier can be rebuilt from its entries: URLs found that have not ended are to do, including
# those in flight or waiting for a retry. The rest is learned again: refused URLs are checked again,
# tries and redirect hops start from zero, robots.txt is fetched again, and a host that was given up
# gets another chance, as a user who resumes a crawl would want.
#
# An entry holds nothing that can be computed: hashing a URL takes 0.09 µs, less than reading a
# stored hash.


class UrlOutcome(StrEnum):
    """How a URL ended; FOUND is for URLs that were not found on a page."""

    FOUND = "found"
    PAGE = "page"
    DUPLICATE = "duplicate"
    """A page with the content of an earlier one under another URL."""
    REDIRECT = "redirect"
    ERROR = "error"
    """The last try ended with an error status."""
    FAILURE = "failure"
    """The last try got no answer."""


NEEDED = "page requisites"
"""The detail of an entry that found some."""


class JournalEntry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a URL ended, and the URLs found there."""

    outcome: UrlOutcome
    url: str = ""
    """Empty for FOUND."""
    found: Sequence[str] = ()
    """Newly accepted URLs; in a part of a site, also those of other parts."""
    depth: int = 0
    """Of the URLs found; of a redirect, an error or a failure, its own."""
    digest: bytes = b""
    detail: str = ""
    """For people: the status, the failure, or why a redirect or a page was not followed. Of page
    requisites `NEEDED`, which a replay goes by."""
    levels: bytes = b""
    """With a focus: levels of the URLs found, a byte each."""
    raised: Sequence[str] = ()
    """With a focus: URLs found earlier that moved up ..."""
    raised_levels: bytes = b""
    """... and their new levels."""
    refused: Refusals = ()
    """What the URL filter refused since the entry before."""
    modified: Sequence[tuple[str, float]] = ()
    """Known pages with their date of change by a sitemap, in seconds since 1970."""
    left: Sequence[str] = ()
    """Known pages that were to be fetched and are out of scope."""


def left_by(entries: Iterable[JournalEntry]) -> int:
    """URLs found by these entries minus URLs ended by them.

    >>> left_by([JournalEntry(UrlOutcome.FOUND, found=["/"]), JournalEntry(UrlOutcome.PAGE, "/",
    ...     ["/a"])])
    1
    """
    return sum(len(entry.found) - (entry.outcome is not UrlOutcome.FOUND) for entry in entries)
