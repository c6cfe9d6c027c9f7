"""What a server has sent us: counters per address, and the size of a site's next response."""

from __future__ import annotations

import msgspec

from headgate.model.encoding import Label, Span, Tally, Volume

__all__ = ["ResponseSize", "ServerTally"]

_GAPS_REMEMBERED = 64
"""Number of busy intervals kept; a response rarely began before so many pauses."""


class ServerTally(msgspec.Struct):
    """Counters of what a server sent us; they only grow, one set per address.

    The fetcher adds each response as it ends; `control.learner` makes measures from their
    differences. With sums, a process need not see every response, and none is counted twice.

    Of one address; times by a monotonic clock.
    """

    hosts: set[Label] = msgspec.field(default_factory=set)
    requests: Tally = 0
    bytes: Volume = 0
    """On the line."""
    busy_seconds: Span = 0.0
    """Time with at least one response in flight: overlapping ones share the server."""
    first_byte_seconds: Span = 0.0
    response_seconds: Span = 0.0
    """Sum over all responses, including time that we held them back."""
    held_seconds: Span = 0.0
    """The part of it in which a response, or its request, waited for our own credit."""
    round_trip_seconds: Span = 0.0
    """The shortest round trip seen; 0: none."""
    _busy: list[tuple[float, float]] = msgspec.field(default_factory=list)
    """Disjoint busy intervals, in order."""

    def count(
        self, began: float, ended: float, bytes_: int, first_byte_seconds: float, held: float
    ) -> None:
        """A response ended. Calls come in the order of ``ended``; ``held`` counts from before
        ``began`` too, when it was the request that waited."""
        self.requests += 1
        self.bytes += bytes_
        self.first_byte_seconds += first_byte_seconds
        self.held_seconds += held
        self.response_seconds += max(ended - began, held)
        start = began
        while self._busy and self._busy[-1][1] >= began:
            earlier, until = self._busy.pop()
            self.busy_seconds -= until - earlier
            start = min(start, earlier)
        self._busy.append((start, ended))
        self.busy_seconds += ended - start
        if len(self._busy) > _GAPS_REMEMBERED:
            del self._busy[0]

    def saw_round_trip(self, seconds: float) -> None:
        if seconds > 0:
            self.round_trip_seconds = min(self.round_trip_seconds or seconds, seconds)

    def totals(self) -> ServerTally:
        """A copy for sending; `count` must not be called on it."""
        return self.plus(ServerTally())

    def plus(self, other: ServerTally) -> ServerTally:
        """The sum for two processes that fetch from one address; how their times overlap is not
        known."""
        together = ServerTally(
            self.hosts | other.hosts,
            self.requests + other.requests,
            bytes=self.bytes + other.bytes,
            busy_seconds=self.busy_seconds + other.busy_seconds,
            first_byte_seconds=self.first_byte_seconds + other.first_byte_seconds,
            response_seconds=self.response_seconds + other.response_seconds,
            held_seconds=self.held_seconds + other.held_seconds,
            round_trip_seconds=self.round_trip_seconds,
        )
        together.saw_round_trip(other.round_trip_seconds)
        return together


FIRST_GUESS = 20_000.0
MEMORY = 100


class ResponseSize:
    """The expected size of a site's responses, from earlier ones.

    The mean of all responses at first, then of about the last MEMORY, with the first guess counted
    as one of them. It must be steady: all requests in flight were paid by it, so if it followed
    every long page, it would be wrong for all of them at once, and the line would overrun or idle.

    Wire bytes.
    """

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
