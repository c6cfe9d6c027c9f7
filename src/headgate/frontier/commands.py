"""Commands that the frontier issues."""

from __future__ import annotations

import msgspec

from headgate.frontier.journal import JournalEntry

__all__ = [
    "FINISHED",
    "NAMED_BY_INDEX",
    "NAMED_BY_SITE",
    "NO_SITEMAP",
    "Command",
    "Done",
    "Fetch",
    "GiveUp",
    "LearnRobots",
    "Ready",
    "Record",
    "Wait",
]

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
    busy: int = 0
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
        return not (self.tries or self.busy or self.hops or self.sitemap)


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
