"""What a scorer sees: a page that was fetched, and what it says about each of its links."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

__all__ = ["LinkSigns", "PageSigns"]


class LinkSigns(msgspec.Struct, frozen=True, array_like=True):
    """One link; the URL is absolute and in normal form."""

    url: str
    anchor: str = ""
    """The text of all anchors on the page that lead there."""
    around: str = ""
    """The text beside the first of them."""


class PageSigns(msgspec.Struct, frozen=True, array_like=True):
    """A page."""

    url: str
    title: str = ""
    language: str = ""
    """As the page says, like ``en-GB``; often empty."""
    text: str = ""
    links: Sequence[LinkSigns] = ()
    came_with: float = 0.5
    """The score it had when its turn came."""
