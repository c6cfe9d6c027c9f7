"""Deduplication. URLseen: the set of URLs that this site run has seen, as hashes; and Pageseen, of
contents.

The filter looks up every link of every page, so this is the hottest structure of the frontier. A
URL is decided on once: accepted or refused, that holds for the run.

Of two URLs with the same 64-bit hash, the second would be ignored. Among n URLs that happens with
probability n^2 / 2^65: 3 in a million crawls of ten million URLs. SARSS 2010 uses SHA-1 here; XXH3
is as good where nobody gains by a collision, and takes 0.09 µs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

from xxhash import xxh3_64_intdigest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Words: TypeAlias = npt.NDArray[np.uint64]

__all__ = ["HashSet", "Hashes", "PageSeen", "UrlSeen", "url_hashes"]

_EMPTY_SLOT_STAND_IN = 1
"""Stands for the hash 0, which marks an empty slot in the table."""


class UrlSeen:
    """The set of URLs seen."""

    __slots__ = ("_hashes",)

    def __init__(self) -> None:
        self._hashes = HashSet()

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, url: str) -> bool:
        return (xxh3_64_intdigest(url.encode()) or _EMPTY_SLOT_STAND_IN) in self._hashes

    def add(self, urls: Sequence[str]) -> list[str]:
        """Add URLs; return the new ones, in order.

        >>> seen = UrlSeen()
        >>> seen.add(["http://a/", "http://b/"]), seen.add(["http://b/", "http://c/"])
        (['http://a/', 'http://b/'], ['http://c/'])
        """
        hashes = [xxh3_64_intdigest(url.encode()) or _EMPTY_SLOT_STAND_IN for url in urls]
        return [urls[position] for position in self._hashes.add(hashes)]

    def fill(self, hashes: Hashes) -> None:
        """Add many at once, as hashes by `url_hashes`."""
        self._hashes.fill(hashes)

    def hashes(self) -> array[int]:
        """All hashes, as `fill` takes them."""
        return array("Q", self._hashes)

    def check(self) -> None:
        self._hashes.check()


def url_hashes(urls: Iterable[str]) -> Hashes:
    """Hash URLs as URLseen does; the URLs need not fit in memory."""
    return array("Q", (xxh3_64_intdigest(url.encode()) or _EMPTY_SLOT_STAND_IN for url in urls))


Hashes: TypeAlias = Union["array[int]", "_Words"]
"""A sequence of 64-bit words."""

_FEW = 10_000
_SEGMENTS = 64
_FULL = 0.65
_GROWTH = 1.5
_SMALLEST = 33
_SMALL = 500
_GROWTH_WHEN_SMALL = 4
"""A rebuild costs 20 µs however small the segment, so small ones grow faster."""


class HashSet:
    """A set of 64-bit hashes at about 16 bytes each, for tens of millions of them.

    Open addressing with linear probing in 64 segments; the low six bits of a hash choose the
    segment, and its remainder modulo the segment's odd size is the slot where probing starts. 0
    marks an empty slot, so it cannot be stored.

    A segment that is 65 % full is rebuilt half as large again. The segments start with different
    sizes, so that they grow one after the other: growth copies one segment at a time (12 ms at ten
    million hashes, not a second), and the whole set is never in memory twice.

    Hashes are added page by page, and a page has a hundred links or fewer. At that size a plain
    loop over a memoryview beats vectorised probing, which pays off only for thousands of hashes
    (``bench/frontier.py`` measures both). Rebuilding and bulk filling are vectorised.

    Most sites are small: up to `_FEW` hashes are in a plain set, at 70 to 140 bytes each, since the
    segments of an empty table take 40 KB and five milliseconds, and importing NumPy takes 15 MB and
    a tenth of a second.

    Invariants: hashes are in the plain set or in the segments, never in both; each is stored once,
    and no slot is empty between the one where its probing starts and the one that holds it.

    A set without removal.
    """

    __slots__ = ("_few", "_room", "_segments")

    def __init__(self) -> None:
        self._few: set[int] = set()
        """All hashes while there are no segments."""
        self._segments: list[tuple[memoryview[int], int]] = []
        self._room: list[int] = []
        """Per segment: how many hashes it takes before it is rebuilt. Always positive."""

    def __len__(self) -> int:
        return len(self._few) + sum(
            int(size * _FULL) - room
            for (_, size), room in zip(self._segments, self._room, strict=True)
        )

    def __iter__(self) -> Iterator[int]:
        yield from self._few
        for slots, _ in self._segments:
            yield from filter(None, slots)

    def __contains__(self, value: int) -> bool:
        if not self._segments:
            return value in self._few
        slots, size = self._segments[value & 63]
        at = value % size
        while held := slots[at]:
            if held == value:
                return True
            at = at + 1 if at + 1 < size else 0
        return False

    def add(self, hashes: Iterable[int]) -> list[int]:
        """Add hashes; return the positions of the new ones.

        >>> seen = HashSet()
        >>> seen.add([7, 8, 7, 9]), seen.add([9, 10])
        ([0, 1, 3], [1])
        """
        if not self._segments:
            return self._add_to_few(hashes)
        segments, room = self._segments, self._room
        new: list[int] = []
        for position, value in enumerate(hashes):
            segment = value & 63
            slots, size = segments[segment]
            at = value % size
            held = slots[at]
            while held and held != value:
                at += 1
                if at == size:
                    at = 0
                held = slots[at]
            if not held:
                slots[at] = value
                new.append(position)
                room[segment] -= 1
                if not room[segment]:
                    self._rebuild(segment)
        return new

    def fill(self, hashes: Hashes) -> None:
        """Add many at once, as after a crash; none may be 0."""
        if not self._segments:
            if len(self._few) + len(hashes) <= _FEW:
                self._few.update(hashes.tolist())
                return
            self._spread()
        import numpy as np

        words: _Words = np.frombuffer(hashes, np.uint64)
        segment_of = (words & np.uint64(_SEGMENTS - 1)).astype(np.uint8)
        ordered = words[np.argsort(segment_of, kind="stable")]
        ends = np.cumsum(np.bincount(segment_of, minlength=_SEGMENTS))
        for segment, part in enumerate(np.split(ordered, ends[:-1])):
            self._rebuild(segment, part)

    def check(self) -> None:
        """Assert that every hash can be found, is stored once and counted."""
        assert not (self._few and self._segments)
        for (slots, size), room in zip(self._segments, self._room, strict=True):
            held = [value for value in slots.tolist() if value]
            assert len(slots) == size
            assert len(held) == len(set(held)) == int(size * _FULL) - room
            assert room > 0
            assert all(value in self for value in held)

    def _add_to_few(self, hashes: Iterable[int]) -> list[int]:
        few, new = self._few, []
        for position, value in enumerate(hashes):
            if value not in few:
                few.add(value)
                new.append(position)
        if len(few) > _FEW:
            self._spread()
        return new

    def _spread(self) -> None:
        """Move the hashes of the plain set into segments."""
        import numpy as np

        few, self._few = self._few, set()
        sizes = [int(_SMALLEST * _GROWTH ** (k / _SEGMENTS)) | 1 for k in range(_SEGMENTS)]
        self._segments = [_table(np.empty(0, np.uint64), size) for size in sizes]
        self._room = [int(size * _FULL) for size in sizes]
        self.fill(array("Q", few))

    def _rebuild(self, segment: int, added: _Words | None = None) -> None:
        import numpy as np

        slots, size = self._segments[segment]
        held: _Words = np.asarray(slots)
        held = held[held != 0]
        if added is not None and added.size:
            both = np.sort(np.concatenate((held, added)))
            held = both[np.diff(both, prepend=np.uint64(0)) != 0]  # union1d loads a tenth of NumPy
        while len(held) >= int(size * _FULL):
            size = int(size * (_GROWTH if size > _SMALL else _GROWTH_WHEN_SMALL)) | 1
        self._segments[segment] = _table(held, size)
        self._room[segment] = int(size * _FULL) - len(held)


def _table(hashes: _Words, size: int) -> tuple[memoryview[int], int]:
    """Return slots filled with these distinct hashes.

    In the order of the slots where their probing starts, hash k lands at the maximum over j <= k of
    start[j] + (k - j): linear probing in closed form. The few beyond the end wrap around.
    """
    import numpy as np

    table = np.zeros(size, np.uint64)
    start = (hashes % np.uint64(size)).astype(np.int64)
    order = np.argsort(start)
    rank = np.arange(len(hashes))
    at = np.maximum.accumulate(start[order] - rank) + rank
    inside = int(np.searchsorted(at, size))
    table[at[:inside]] = hashes[order[:inside]]
    slots = table.data
    free = 0
    for value in hashes[order[inside:]].tolist():
        while slots[free]:
            free += 1
        slots[free] = value
    return slots, size


class PageSeen:
    """Pageseen: digests of the contents that this site run has fetched.

    A page with the content of an earlier one under another URL is recorded as a duplicate. Its
    links depend on its content *and its URL*: relative links of a copy in another folder lead
    elsewhere. So links of a duplicate are followed, too; those that are the same cost one lookup in
    URLseen each.

    That would be endless if a server answers every path with one page full of relative links. So
    links are followed only for the first ``copies_followed`` URLs of a content (a rule of the
    frontier, 16 by default; 1 is the rule of SARSS 2010, where links of copies are not followed).

    64 bits of a digest are stored. A false match among n pages has probability n^2 / 2^65 and has
    no effect before the 17th URL.

    Counts the pages of each content.
    """

    __slots__ = ("_copies", "_digests")

    def __init__(self) -> None:
        self._digests = HashSet()
        self._copies: dict[int, int] = {}
        """For contents with more than one page: how many there were before the last."""

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, digest: bytes) -> int:
        """Count a page; return how many of this content there were before. The first 64 bits of the
        digest count.

        >>> pages = PageSeen()
        >>> [pages.add(digest) for digest in (b"16 bytes of a sum", b"another of those.") * 2]
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
