"""How many pages a site may have in memory at once: fewer if they are large."""

from __future__ import annotations

from headgate.model.fetch import Fetched
from headgate.model.page import Links

__all__ = ["HeldPages"]

_MOST_HELD_BYTES = 12_000_000
"""Rough limit for the pages being fetched and read at once."""
_FORGETTING = 0.95


class HeldPages:
    """By the largest of the latest pages."""

    __slots__ = ("_large_bytes",)

    def __init__(self) -> None:
        self._large_bytes = 1.0

    def came(self, fetched: Fetched, links: Links | None) -> bool:
        """Count a page; whether it is so large that the limit has changed much."""
        held = len(fetched.payload)
        if links is not None:
            held += links.held_bytes
        larger = held > 2 * self._large_bytes
        self._large_bytes = max(held, _FORGETTING * self._large_bytes, 1.0)
        return larger

    @property
    def most(self) -> int:
        """Most pages at once; at least 1."""
        return max(int(_MOST_HELD_BYTES / self._large_bytes), 1)
