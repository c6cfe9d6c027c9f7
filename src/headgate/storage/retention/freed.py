"""What removing old versions has freed."""

from __future__ import annotations

import msgspec

__all__ = ["Freed"]


class Freed(msgspec.Struct, frozen=True):
    captures: int = 0
    """Looks whose records are gone."""
    bytes: int = 0
    """On the disk."""

    def plus(self, other: Freed) -> Freed:
        return Freed(self.captures + other.captures, self.bytes + other.bytes)
