"""What a crawl met and left out, and why: counted, with a few examples of each reason."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from headgate.model.told_values import Tally, Text

__all__ = ["MOST_EXAMPLES", "LeftOut", "Reason", "merged"]

MOST_EXAMPLES = 3


class Reason(StrEnum):
    """Why a URL is not fetched. Traps, bounds and `model.fetch.LEFT_OUT` are reasons, too, under
    their own names."""

    OTHER_HOST = "other host"
    OUT_OF_SCOPE = "out of scope"
    """By the user's include and exclude."""
    BEYOND_DEPTH = "beyond depth"
    NOFOLLOW = "nofollow"
    ROBOTS = "robots.txt"
    HOST_GIVEN_UP = "host given up"
    COPY = "links of a copy"
    """On a page whose content was found too often under other URLs."""
    HOPS = "too many redirects"
    SITEMAPS = "too many sitemaps"
    UNREADABLE = "unreadable"
    """On a page that was fetched and stored, but broke the process that reads pages."""


class LeftOut(msgspec.Struct, frozen=True):
    """URLs not fetched for one reason."""

    count: Tally
    examples: tuple[Text, ...] = ()
    """The first few; long URLs are cut."""


def merged(*parts: Mapping[str, LeftOut]) -> dict[str, LeftOut]:
    """The sum of all parts, by reason.

    >>> merged({"nofollow": LeftOut(2, ("a",))}, {"nofollow": LeftOut(1, ("b",))})
    {'nofollow': LeftOut(count=3, examples=('a', 'b'))}
    """
    whole: dict[str, LeftOut] = {}
    for part in parts:
        for reason, found in part.items():
            before = whole.get(reason, LeftOut(0))
            examples = dict.fromkeys((*before.examples, *found.examples))
            whole[reason] = LeftOut(before.count + found.count, tuple(examples)[:MOST_EXAMPLES])
    return whole
