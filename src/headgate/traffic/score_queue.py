"""Downloads that wait, best score first; of equal scores, the one that came first.

The list is kept worst first, so that the best are at its end and taking one of the best few moves
nothing else.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Download", "ScoreQueue", "Waiting"]


@dataclass(frozen=True, slots=True)
class Download:
    """A document to fetch."""

    key: str
    """Its own among all that wait or run: the URL, mostly."""
    server: str
    """Whose speed counts: an address."""
    score: float


class Waiting:
    """A download in line, and how often it was passed over for want of room."""

    __slots__ = ("_rank", "download", "passed_over", "since")

    def __init__(self, download: Download, number: int) -> None:
        self.download = download
        self.passed_over = 0
        self.since: float | None = None
        """When it was first passed over."""
        self._rank = (download.score, -number)

    def __lt__(self, other: Waiting) -> bool:
        return self._rank < other._rank


class ScoreQueue:
    """Filled by `add`, emptied by `take`."""

    def __init__(self) -> None:
        self._worst_first: list[Waiting] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._worst_first)

    def add(self, download: Download) -> None:
        insort(self._worst_first, Waiting(download, self._count))
        self._count += 1

    def best(self, count: int) -> Iterator[Waiting]:
        """The first so many, best first."""
        for place in range(min(count, len(self))):
            yield self._worst_first[-1 - place]

    def take(self, place: int) -> Download:
        """Remove the one at this place, counted from the best, which is 0."""
        return self._worst_first.pop(-1 - place).download

    def check(self) -> None:
        assert all(a < b for a, b in zip(self._worst_first, self._worst_first[1:], strict=False))
