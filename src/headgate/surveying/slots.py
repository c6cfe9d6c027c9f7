"""How many servers are contacted at once.

A slow server should not block others: after a second its request gives its slot to another. At most
four times as many requests as slots are in flight.
"""

from __future__ import annotations

__all__ = ["Slots"]

_PATIENCE_SECONDS = 1.0
_REQUESTS_PER_SLOT = 4


class Slots:
    """Requests in flight, one per server."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._quick: dict[int, float] = {}
        """When each began, the oldest first."""
        self._slow: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._quick) + len(self._slow)

    def free(self, now: float) -> bool:
        """Whether one more request may begin."""
        while (due := self.next_free) is not None and due <= now:
            number = next(iter(self._quick))
            self._slow[number] = self._quick.pop(number)
        return len(self._quick) < self._count and len(self) < _REQUESTS_PER_SLOT * self._count

    @property
    def next_free(self) -> float | None:
        """When a slot will become free, if no request ends before."""
        began = next(iter(self._quick.values()), None)
        return None if began is None else began + _PATIENCE_SECONDS

    def begin(self, server: int, now: float) -> None:
        self._quick[server] = now

    def end(self, server: int) -> float:
        """A request has ended; returns when it began."""
        return self._quick.pop(server) if server in self._quick else self._slow.pop(server)

    def check(self) -> None:
        began = list(self._quick.values())
        assert began == sorted(began)
        assert len(self) <= _REQUESTS_PER_SLOT * self._count
        assert not self._slow.keys() & self._quick.keys()
