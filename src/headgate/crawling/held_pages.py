"""How many pages a site may have in memory at once: large ones come fewer at a time."""

from __future__ import annotations

from headgate.model.fetch import Fetched
from headgate.model.page import Links

__all__ = ["HeldPages"]

_MOST_HELD_BYTES = 12_000_000
"""Of pages that are fetched and read at once, roughly."""
_FORGETTING = 0.95


class HeldPages:
    """Goes by the largest of the latest pages."""

    __slots__ = ("_large_bytes",)

    def __init__(self) -> None:
        self._large_bytes = 1.0

    def came(self, fetched: Fetched, links: Links | None) -> bool:
        """Whether it is so much larger than those before that fewer may come from now on."""
        held = len(fetched.payload)
        if links is not None:
            held += links.held_bytes
        larger = held > 2 * self._large_bytes
        self._large_bytes = max(held, _FORGETTING * self._large_bytes, 1.0)
        return larger

    @property
    def most(self) -> int:
        """At once; one at the least."""
        return max(int(_MOST_HELD_BYTES / self._large_bytes), 1)
