"""The cost of a request to a server beyond its bytes, and the time to the first byte.

Sums over measures, in which older ones fade.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["RequestCost"]

_KEPT = 0.9
"""Factor on the sums at each new measure."""
_TELLING = 0.1
"""How much measures must differ, relative to the maximum, to separate the cost of requests from
that of bytes."""
_MOMENTS = 5


class RequestCost:
    """Of one address."""

    __slots__ = ("_moments", "first_byte", "requests")

    def __init__(self, sums: Sequence[float] = (0.0,) * (_MOMENTS + 2)) -> None:
        """``sums`` as `sums` gives them."""
        self._moments = list(sums[:_MOMENTS])
        """Sums of n n, n b, b b, n s, b s over measures of n requests, b bytes, s seconds."""
        self.requests, self.first_byte = sums[_MOMENTS:]
        """Seconds to the first byte, over ``requests``."""

    @property
    def sums(self) -> tuple[float, ...]:
        return (*self._moments, self.requests, self.first_byte)

    @property
    def latency_seconds(self) -> float:
        """Mean time from a request to the first byte of its response."""
        return self.first_byte / self.requests if self.requests else 0.0

    @property
    def seconds(self) -> float:
        """a in seconds = a requests + bytes / speed, by least squares; the latency where requests
        were too much alike to tell."""
        nn, nb, bb, ns, bs = self._moments
        determinant = nn * bb - nb * nb
        if determinant <= _TELLING * nn * bb:
            return min(self.latency_seconds, ns / nn) if nn else self.latency_seconds
        return min(max((ns * bb - bs * nb) / determinant, 0.0), ns / nn)

    def answered(self, requests: int, first_byte_seconds: float) -> None:
        """So many requests were answered, after so many seconds in all."""
        self.requests = _KEPT * self.requests + requests
        self.first_byte = _KEPT * self.first_byte + first_byte_seconds

    def took(self, requests: int, bytes_: float, seconds: float) -> None:
        """So many requests with so many bytes took so long, limited by the server."""
        n, b, s = requests, bytes_, seconds
        for index, product in enumerate((n * n, n * b, b * b, n * s, b * s)):
            self._moments[index] = _KEPT * self._moments[index] + product
