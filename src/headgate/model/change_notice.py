"""A change of a page that the user wants to be notified of."""

from __future__ import annotations

import msgspec

from headgate.model.page_change import PageChange

__all__ = ["ArchivedPage", "ChangeNotice"]


class ArchivedPage(msgspec.Struct, frozen=True, array_like=True):
    """Where a version of a page lies in the collection."""

    file: str
    """Within the collection; the record is at ``offset``, archived as ``url``."""
    offset: int
    url: str
    digest: bytes
    """SHA-1 of the payload."""


class ChangeNotice(msgspec.Struct, frozen=True, omit_defaults=True):
    to: str
    """The site's ``on_change``: a command or a URL."""
    change: PageChange
    """May come without its difference, which is computed when the notice is delivered."""
    old: ArchivedPage | None = None
    new: ArchivedPage | None = None
    ignore: tuple[str, ...] = ()
    """The site's rules for what does not count as a change."""
