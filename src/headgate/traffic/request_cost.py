"""What requests to a server cost beside their bytes, and how long its first bytes take.

Sums over measures, in which older ones fade.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["RequestCost"]

_KEPT = 0.9
"""Of the sums, when another measure comes."""
_TELLING = 0.1
"""How unlike each other measures must be, of what they can be at the most, to tell what a request
costs from what its bytes do."""
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
        """So many requests were, after so many seconds all together."""
        self.requests = _KEPT * self.requests + requests
        self.first_byte = _KEPT * self.first_byte + first_byte_seconds

    def took(self, requests: int, bytes_: float, seconds: float) -> None:
        """The server set the pace, and so many requests with so many bytes took so long."""
        n, b, s = requests, bytes_, seconds
        for index, product in enumerate((n * n, n * b, b * b, n * s, b * s)):
            self._moments[index] = _KEPT * self._moments[index] + product
