"""What must survive a crash, as values for the caller to make durable.

The frontier emits one entry for each URL that came to its end, with the new URLs it brought, and
one for each batch of seeds. The caller stores an entry in one piece with the page it speaks of:
then either both are there after a crash or none is, and the URL is simply fetched again.

All entries together are the frontier: URLs found and not settled are to do, those in flight and
those waiting for a retry among them. What is not kept is learnt again. Refused URLs are judged
anew when met again, tries and redirect hops start from zero, robots.txt is read again, and a host
that was given up gets another chance, as somebody who resumes a crawl would want.

An entry holds nothing that can be computed: hashing a URL again takes 0.09 µs, less than reading
a stored hash would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from headgate.frontier.omissions import Refusals

__all__ = ["JournalEntry", "Outcome", "left_by"]


class Outcome(StrEnum):
    """How a URL ended; FOUND is the entry of URLs that no page brought."""

    FOUND = "found"
    PAGE = "page"
    DUPLICATE = "duplicate"
    """A page whose content was met before under another URL."""
    REDIRECT = "redirect"
    ERROR = "error"
    """The server's last word was an error status."""
    FAILURE = "failure"
    """There was no answer, for the last time."""


class JournalEntry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One URL's end and what it brought."""

    outcome: Outcome
    url: str = ""
    """Empty for FOUND."""
    found: Sequence[str] = ()
    """URLs let in for the first time; in a part of a site, also those of other parts."""
    depth: int = 0
    """Of the URLs found; of a URL that links to none, its own."""
    digest: bytes = b""
    detail: str = ""
    """For people: the status, the failure, or why a redirect was not followed."""
    levels: bytes = b""
    """With a focus: of the URLs found, in their order, a byte each."""
    raised: Sequence[str] = ()
    """With a focus: URLs found earlier that moved up, ..."""
    raised_levels: bytes = b""
    """... and their levels since."""
    refused: Refusals = ()
    """What was refused at the gate since the entry before."""
    modified: Sequence[tuple[str, float]] = ()
    """Known pages that a sitemap dates, with when it says that they changed: seconds since 1970."""


def left_by(entries: Iterable[JournalEntry]) -> int:
    """URLs that these brought to do, less those that they ended.

    >>> left_by([JournalEntry(Outcome.FOUND, found=["/"]), JournalEntry(Outcome.PAGE, "/", ["/a"])])
    1
    """
    return sum(len(entry.found) - (entry.outcome is not Outcome.FOUND) for entry in entries)
