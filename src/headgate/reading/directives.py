"""Directives of a page for crawlers, in ``<meta name=robots>`` or by header.

Both have the same words; ``noindex``, ``nofollow`` and ``none`` count here. They may be meant for
one crawler only: by the meta's name, or in the ``X-Robots-Tag`` header before a colon. All that
apply to us are combined, so the strictest wins, wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

__all__ = ["ALL_ALLOWED", "Directives", "meta_directives", "x_robots_tag"]

_WITH_VALUE = frozenset(
    ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
)
"""Directives that contain a colon themselves, so it does not follow a crawler's name."""

_LONGEST = 4_096
"""Only so many characters are read."""


class Directives(msgspec.Struct, frozen=True):
    """What may be done with a page."""

    index: bool = True
    """It may be kept."""
    follow: bool = True
    """Its links may be followed."""

    def __and__(self, other: Directives) -> Directives:
        return Directives(self.index and other.index, self.follow and other.follow)


ALL_ALLOWED = Directives()


def meta_directives(content: str) -> Directives:
    """Of a meta's content.

    >>> meta_directives("NoFollow, noarchive")
    Directives(index=True, follow=False)
    """
    words = set(content[:_LONGEST].lower().replace(",", " ").split())
    return Directives(
        index=words.isdisjoint(("noindex", "none")), follow=words.isdisjoint(("nofollow", "none"))
    )


def x_robots_tag(values: Iterable[str], agent: str) -> Directives:
    """Of all ``X-Robots-Tag`` headers of a response, for the crawler of this product token.

    >>> x_robots_tag(["noindex", "otherbot: nofollow", "headgate: none"], "headgate")
    Directives(index=False, follow=False)
    >>> x_robots_tag(["otherbot: noindex, nofollow", "unavailable_after: 1 Jan, none"], "headgate")
    Directives(index=False, follow=False)
    """
    ours: list[str] = []
    for value in values:
        addressed = True
        for part in value.split(","):
            name, colon, word = part.partition(":")
            if colon and name.strip().lower() not in _WITH_VALUE:
                addressed = name.strip().lower() == agent.lower()
            if addressed:
                ours.append(word or name)
    return meta_directives(",".join(ours))
