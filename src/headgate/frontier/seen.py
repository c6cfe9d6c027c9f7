"""URLseen: which URLs this site run has met, kept as hashes.

The filter asks it for every link of every page, so this is the hottest structure of the frontier.
A URL is met once: whatever was decided about it then, accepted or refused, stands for the run.
Filled by the filter and by a replay, emptied by nobody.

Two URLs with one 64-bit hash would hide one another. Among n URLs that happens with probability
n^2 / 2^65: 3 in a million crawls of ten million URLs. SARSS 2010 keeps SHA-1 here; XXH3 is as good
where nobody gains by a collision, and takes 0.09 µs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from xxhash import xxh3_64_intdigest

from headgate.frontier.hash_set import Hashes, HashSet

__all__ = ["UrlSeen", "url_hashes"]

_EMPTY_SLOT_STAND_IN = 1
"""The table's empty mark 0 cannot be stored; a URL that hashes to it shares this hash."""


class UrlSeen:
    """The set of URLs met."""

    __slots__ = ("_hashes",)

    def __init__(self) -> None:
        self._hashes = HashSet()

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, url: str) -> bool:
        return (xxh3_64_intdigest(url.encode()) or _EMPTY_SLOT_STAND_IN) in self._hashes

    def meet(self, urls: Sequence[str]) -> list[str]:
        """Remember these; the answer is those met for the first time, in their order.

        >>> seen = UrlSeen()
        >>> seen.meet(["http://a/", "http://b/"]), seen.meet(["http://b/", "http://c/"])
        (['http://a/', 'http://b/'], ['http://c/'])
        """
        hashes = [xxh3_64_intdigest(url.encode()) or _EMPTY_SLOT_STAND_IN for url in urls]
        return [urls[position] for position in self._hashes.add(hashes)]

    def fill(self, hashes: Hashes) -> None:
        """Remember many at once, by what `url_hashes` gave for them."""
        self._hashes.fill(hashes)

    def hashes(self) -> array[int]:
        """Of all, as `fill` takes them."""
        return array("Q", self._hashes)

    def check(self) -> None:
        self._hashes.check()


def url_hashes(urls: Iterable[str]) -> Hashes:
    """The hashes by which URLseen knows these URLs; the URLs themselves need not fit in memory."""
    return array("Q", (xxh3_64_intdigest(url.encode()) or _EMPTY_SLOT_STAND_IN for url in urls))
