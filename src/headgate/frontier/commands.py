"""What the frontier asks for."""

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
"""An index leads to the sitemaps it names and no further."""

FINISHED = "finished"
"""The reason of a Done that nobody asked for: nothing is left to do."""


class Fetch(msgspec.Struct, frozen=True, gc=False):
    """Fetch this now: its host is ready. Ends with exactly one event that names the URL."""

    url: str
    depth: int
    tries: int = 0
    """Fetches of it that failed before."""
    busy: int = 0
    """Fetches of it that a busy host put off before."""
    hops: int = 0
    """Redirects that led here."""
    level: int = 0
    """Of its score, 0 the best; without a focus, of all."""
    sitemap: int = NO_SITEMAP
    """A sitemap is no page: it is answered by SitemapRead where a page is by PageFetched."""

    @property
    def untouched(self) -> bool:
        """A page, neither a retry nor a redirect's target: nothing was begun for it."""
        return not (self.tries or self.busy or self.hops or self.sitemap)


class LearnRobots(msgspec.Struct, frozen=True, gc=False):
    """Get robots.txt of this origin; its URLs wait for RobotsLearned."""

    origin: str


class Record(msgspec.Struct, frozen=True, gc=False):
    """Make this durable, together with what was fetched."""

    entry: JournalEntry


class GiveUp(msgspec.Struct, frozen=True, gc=False):
    """Nothing more is asked of this host; its URLs are dropped."""

    host: str
    reason: str


class Ready(msgspec.Struct, frozen=True, gc=False):
    """This could be fetched now, given a turn; only where fetches wait for turns. It holds until
    the next event."""

    url: str
    level: int


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Nothing can start before this moment unless another event comes first. Replaces the last."""

    until: float


class Done(msgspec.Struct, frozen=True, gc=False):
    """Nothing is to do and nothing under way."""

    reason: str


Command = Fetch | Ready | LearnRobots | Record | GiveUp | Wait | Done
