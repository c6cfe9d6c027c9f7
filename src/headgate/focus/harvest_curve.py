"""The harvest curve: relevant pages against pages fetched, at no more than 200 points."""

from __future__ import annotations

import msgspec

__all__ = ["HarvestCurve"]

_MOST_POINTS = 200


class HarvestCurve(msgspec.Struct):
    """Filled page by page; when there are too many points every second is let go."""

    pages: int = 0
    relevant: int = 0
    _points: list[tuple[int, int]] = msgspec.field(default_factory=list)
    _stride: int = 1

    def add(self, relevant: bool) -> None:
        self.pages += 1
        self.relevant += relevant
        if self.pages % self._stride:
            return
        self._points.append((self.pages, self.relevant))
        if len(self._points) > _MOST_POINTS:
            del self._points[::2]
            self._stride *= 2

    @property
    def points(self) -> tuple[tuple[int, int], ...]:
        """(pages, relevant ones among them), the present included.

        >>> curve = HarvestCurve()
        >>> for page in range(3): curve.add(page != 1)
        >>> curve.points
        ((1, 1), (2, 1), (3, 2))
        """
        last = (self.pages, self.relevant)
        kept = self._points if self._points[-1:] == [last] else [*self._points, last]
        return tuple(kept)
