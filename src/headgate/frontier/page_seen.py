"""Pageseen: which contents this site run has met, kept by digest.

A page whose bytes were met before under another URL is a duplicate and is recorded as one. Its
links are a function of its bytes *and its address*: relative links of a copy in another folder
lead elsewhere. So a duplicate's links are offered like any other's; those that are the same
address cost one look into URLseen each.

That would be endless where a server answers every path with one page full of relative links. So
the links of one content are offered from its first ``copies_followed`` addresses only (the rules
of the frontier, 16 by default; 1 is the rule of SARSS 2010, where no copy's links are followed).

Of a digest, 64 bits are kept. A false match among n pages has probability n^2 / 2^65 and costs
nothing until the 17th address. Filled by fetched pages and by a replay, emptied by nobody.
"""

from __future__ import annotations

from headgate.frontier.hash_set import HashSet

__all__ = ["PageSeen"]

_EMPTY_SLOT_STAND_IN = 1


class PageSeen:
    """Contents and how often each was met."""

    __slots__ = ("_copies", "_digests")

    def __init__(self) -> None:
        self._digests = HashSet()
        self._copies: dict[int, int] = {}
        """For contents met more than once: how many times before the last."""

    def __len__(self) -> int:
        return len(self._digests)

    def meet(self, digest: bytes) -> int:
        """How often this content was met before. The digest has at least 64 good bits in front.

        >>> pages = PageSeen()
        >>> [pages.meet(digest) for digest in (b"16 bytes of a sum", b"another of those.") * 2]
        [0, 0, 1, 1]
        """
        key = _key(digest)
        if self._digests.add((key,)):
            return 0
        copies = self._copies.get(key, 0) + 1
        self._copies[key] = copies
        return copies

    def copies(self, digest: bytes) -> int:
        """How often the last one met of this content had been met before."""
        return self._copies.get(_key(digest), 0)


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little") or _EMPTY_SLOT_STAND_IN
