"""What became of a page between two looks at it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["Change", "PageChange"]


class Change(StrEnum):
    NEW = "new"
    """Met for the first time, or there again."""
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
    """When the later look found it so."""
    before_at: float | None = None
    """When it was looked at before; None: never."""
    difference: tuple[str, ...] = ()
    """Lines of its text that went (``- ``) and came (``+ ``), and some around them (two blanks)."""
    more_lines: int = 0
    """Of the difference, left out here."""
