"""How a page changed between two fetches."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["Change", "PageChange"]


class Change(StrEnum):
    NEW = "new"
    """Found for the first time, or back again."""
    CHANGED = "changed"
    GONE = "gone"
    """404 or 410."""


class PageChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """Times are seconds since 1970."""

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
