"""Near-duplicates by simhash (Charikar 2002): texts that share most of their words share most bits.

Each bit of the 64 is the majority of that bit over the hashes of all word trigrams. Two texts of
which 0.5, 2 or 10 % of the words differ are about 4, 6 and 14 bits apart; unrelated ones 20 or
more.
"""

from __future__ import annotations

import re

import numpy as np
import xxhash

__all__ = ["NEAR_BITS", "NearDuplicates", "simhash"]

NEAR_BITS = 10
"""So many bits may differ."""
_LEAST_WORDS = 30
"""Of fewer, the hash says little."""
_MOST_WORDS = 50_000
_REMEMBERED = 100_000
_WORD = re.compile(r"\w+")


def simhash(text: str) -> int | None:
    """None: the text is too short.

    >>> words = [str(number) for number in range(500)]
    >>> one, other = simhash(" ".join(words)), simhash(" ".join([*words, "more"]))
    >>> (one ^ other).bit_count() <= NEAR_BITS
    True
    """
    words = _WORD.findall(text.lower())[:_MOST_WORDS]
    if len(words) < _LEAST_WORDS:
        return None
    trigrams = zip(words, words[1:], words[2:], strict=False)
    hashes = np.fromiter(
        (
            xxhash.xxh3_64_intdigest(" ".join(three).encode("utf-8", "replace"))
            for three in trigrams
        ),
        np.uint64,
    )
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1)
    major = bits.sum(axis=0, dtype=np.int64) * 2 > len(hashes)
    return int.from_bytes(np.packbits(major).tobytes())


class NearDuplicates:
    """Finds near-duplicates among the last hundred thousand texts."""

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._hashes = np.zeros(remembered, np.uint64)
        self._names = [""] * remembered
        self._count = 0

    def first_like(self, name: str, text: str) -> str:
        """The name of the first text that this one repeats; empty: it is new, and stored."""
        found = simhash(text)
        if found is None:
            return ""
        known = min(self._count, len(self._names))
        apart = np.bitwise_count(self._hashes[:known] ^ np.uint64(found))
        if known and int(apart.min()) <= NEAR_BITS:
            return self._names[int(apart.argmin())]
        place = self._count % len(self._names)
        self._hashes[place], self._names[place] = found, name
        self._count += 1
        return ""
