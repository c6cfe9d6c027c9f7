"""The order "links-in": pages that many important pages link to come first.

On-line page importance (OPIC; Abiteboul, Preda, Cobena 2003). Seeds hold a cash of 1. A page that
is fetched hands its cash out to its links in equal parts; a URL's importance is what it has been
given so far. Nothing is iterated, and no graph is kept.

Cash is kept by hash in two tables of fixed size, and of the two sums the lesser counts: URLs that
share a place in one seldom share it in the other. After a restart the tables are empty; a page then
hands out what its score says it had.

A score is the logarithm: 1 for a cash of 1, 0 for 2^-24, the mean share of one of sixteen million.
"""

from __future__ import annotations

import math
from array import array

from xxhash import xxh3_64_intdigest

from headgate.focus.signs import PageSigns

__all__ = ["LinksIn"]

_PLACES = 1 << 18
_OCTAVES = 24


class LinksIn:
    """Scores links by the cash of what they lead to; 4 MB."""

    def __init__(self) -> None:
        self._cash = (array("d", bytes(8 * _PLACES)), array("d", bytes(8 * _PLACES)))

    def scores(self, page: PageSigns, _: float = 0.0) -> dict[str, float]:
        """Hand out the page's cash; the scores that its links have by now."""
        if not page.links:
            return {}
        had = max(self._take(page.url), 2.0 ** ((page.came_with - 1) * _OCTAVES))
        share = had / len(page.links)
        return {link.url: _score(self._give(link.url, share)) for link in page.links}

    def of_url(self, url: str) -> float:
        """Of a URL that nothing more is known about."""
        first, second = _places(url)
        return _score(min(self._cash[0][first], self._cash[1][second]))

    def _give(self, url: str, share: float) -> float:
        first, second = _places(url)
        one, other = self._cash
        one[first] += share
        other[second] += share
        return min(one[first], other[second])

    def _take(self, url: str) -> float:
        first, second = _places(url)
        one, other = self._cash
        had = min(one[first], other[second])
        one[first] -= had
        other[second] -= had
        return had


def _places(url: str) -> tuple[int, int]:
    key = xxh3_64_intdigest(url.encode())
    return key % _PLACES, (key >> 32) % _PLACES


def _score(cash: float) -> float:
    """
    >>> _score(1.0), _score(2.0**-12), _score(0.0)
    (1.0, 0.5, 0.0)
    """
    return min(max(1 + math.log2(cash) / _OCTAVES, 0.0), 1.0) if cash > 0 else 0.0
