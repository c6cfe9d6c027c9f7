"""A finished fetch as it is stored, how the page changed since the last, and the notice of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha1
from http import HTTPStatus

import msgspec

from headgate.model.fetch import Fetched, FetchFailure

__all__ = [
    "LINK_RULES",
    "ArchivedPage",
    "Change",
    "ChangeNotice",
    "Earlier",
    "Links",
    "Page",
    "PageChange",
    "Role",
    "payload_digest",
]

LINK_RULES = 1
"""Version of the rules by which pages' links are read. A higher number makes all that is known of
pages' links count as unknown: unchanged pages are read again, from the archive where it is at hand.
To be raised when links were read wrongly, as before 1, or when many more are found.
"""
_STRING_BYTES = 57
"""Overhead of a string in a list."""


class Role(StrEnum):
    """Why a URL was fetched."""

    PAGE = "page"
    """It came from the frontier."""
    ROBOTS = "robots"
    SITEMAP = "sitemap"


class Earlier(msgspec.Struct, frozen=True, array_like=True):
    """An archived response whose payload may be the same, of this run or of an earlier one."""

    url: str
    wall_time: float
    """Fetch time of the record that holds the payload, not of a later revisit record."""
    digest: bytes
    """SHA-1 of the payload; empty: unknown."""
    etag: str = ""
    last_modified: str = ""
    file: str = ""
    """The WARC file that holds it, within the collection, and where in it the record begins."""
    offset: int = 0


class Links(msgspec.Struct, frozen=True, array_like=True):
    """The links of one page, in the page's order."""

    targets: Sequence[str]
    rels: Sequence[str] = ()
    """``rel`` of each target, in the same order; empty when no link has one."""

    def __post_init__(self) -> None:
        if self.rels and len(self.rels) != len(self.targets):
            raise ValueError(f"{len(self.targets)} targets have {len(self.rels)} rels")

    @property
    def held_bytes(self) -> int:
        """Approximate memory use, with the overhead of each string."""
        return sum(map(len, self.targets)) + _STRING_BYTES * len(self.targets)


class Page(msgspec.Struct, frozen=True, gc=False):
    """A finished fetch as it is handed over to be stored, and the earlier fetch it is compared
    with.

    The final outcome of a URL.
    """

    outcome: Fetched | FetchFailure
    depth: int
    """Links followed from a seed; 0 for a seed."""
    title: str = ""
    language: str = ""
    links: Links | None = None
    """None: they were not read."""
    earlier: Earlier | None = None
    """What the conditional request was based on. A 304, or a payload with its digest, becomes a
    revisit record; anything else is archived in full."""
    role: Role = Role.PAGE
    relevance: float | None = None
    """To the site's topic, from 0 to 1; None: the site has no topic, or the page is no text."""

    @property
    def unchanged(self) -> bool:
        """Whether it is as archived before: not modified, or with the same payload."""
        fetched, earlier = self.outcome, self.earlier
        if earlier is None or isinstance(fetched, FetchFailure):
            return False
        if fetched.status == HTTPStatus.NOT_MODIFIED:
            return True
        if not earlier.digest or fetched.truncated:
            return False
        return payload_digest(fetched.payload) == earlier.digest


def payload_digest(payload: bytes) -> bytes:
    return sha1(payload, usedforsecurity=False).digest()


class Change(StrEnum):
    NEW = "new"
    """Found for the first time, or back again."""
    CHANGED = "changed"
    GONE = "gone"
    """404 or 410."""


class PageChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a page changed between two fetches.

    Times are seconds since 1970.
    """

    change: Change
    site: str
    url: str
    title: str
    seen_at: float
    """When the later fetch found it."""
    before_at: float | None = None
    """When it was fetched before; None: never."""
    difference: tuple[str, ...] = ()
    """Lines of text removed (``- ``) and added (``+ ``), with some context (two blanks)."""
    more_lines: int = 0
    """Number of lines of the difference that were cut off."""


class ArchivedPage(msgspec.Struct, frozen=True, array_like=True):
    """Where a version of a page lies in the collection."""

    file: str
    """Within the collection; the record is at ``offset``, archived as ``url``."""
    offset: int
    url: str
    digest: bytes
    """SHA-1 of the payload."""


class ChangeNotice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a page that the user wants to be notified of.

    It waits in the collection, which may be somebody else's: who gets it, and what does not count
    as a change, is asked of the site file when it is delivered."""

    change: PageChange
    """May come without its difference, which is computed when the notice is delivered."""
    old: ArchivedPage | None = None
    new: ArchivedPage | None = None
