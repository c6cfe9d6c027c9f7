"""Pageseen: digests of the contents that this site run has fetched.

A page with the content of an earlier one under another URL is recorded as a duplicate. Its links
depend on its content *and its URL*: relative links of a copy in another folder lead elsewhere. So
links of a duplicate are followed, too; those that are the same cost one lookup in URLseen each.

That would be endless if a server answers every path with one page full of relative links. So links
are followed only for the first ``copies_followed`` URLs of a content (a rule of the frontier, 16 by
default; 1 is the rule of SARSS 2010, where links of copies are not followed).

64 bits of a digest are stored. A false match among n pages has probability n^2 / 2^65 and has no
effect before the 17th URL.
"""

from __future__ import annotations

from headgate.frontier.hash_set import HashSet

__all__ = ["PageSeen"]

_EMPTY_SLOT_STAND_IN = 1


class PageSeen:
    """Counts the pages of each content."""

    __slots__ = ("_copies", "_digests")

    def __init__(self) -> None:
        self._digests = HashSet()
        self._copies: dict[int, int] = {}
        """For contents with more than one page: how many there were before the last."""

    def __len__(self) -> int:
        return len(self._digests)

    def meet(self, digest: bytes) -> int:
        """Count a page; return how many of this content there were before. The first 64 bits of the
        digest count.

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
        """How many pages of this content there were before the last one."""
        return self._copies.get(_key(digest), 0)


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little") or _EMPTY_SLOT_STAND_IN
