"""The expected size of a site's responses, from earlier ones.

The mean of all responses at first, then of about the last MEMORY, with the first guess counted as
one of them. It must be steady: all requests in flight were paid by it, so if it followed every long
page, it would be wrong for all of them at once, and the line would overrun or idle.
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
        """A response is complete.

        >>> size = ResponseSize()
        >>> size.add(10_000)
        >>> size.expected
        15000.0
        """
        self._seen = min(self._seen + 1, MEMORY)
        self.expected += (wire_bytes - self.expected) / self._seen
