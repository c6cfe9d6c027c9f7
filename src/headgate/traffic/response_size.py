"""How long a response of a site will be, as far as the earlier ones tell.

The mean of all responses at first, then of about the latest MEMORY, with the first guess counted as
one of them. It must be steady: all requests under way were paid for by it, so if it follows every
long page, it is wrong for all of them at once, and the line runs over or stands still by as much.
"""

from __future__ import annotations

__all__ = ["ResponseSize"]

FIRST_GUESS = 20_000.0
MEMORY = 100


class ResponseSize:
    """Wire bytes."""

    __slots__ = ("_seen", "expected")

    def __init__(self) -> None:
        self.expected = FIRST_GUESS
        self._seen = 1

    def add(self, wire_bytes: float) -> None:
        """Another response came.

        >>> size = ResponseSize()
        >>> size.add(10_000)
        >>> size.expected
        15000.0
        """
        self._seen = min(self._seen + 1, MEMORY)
        self.expected += (wire_bytes - self.expected) / self._seen
