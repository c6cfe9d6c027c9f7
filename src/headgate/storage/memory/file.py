"""The layout of ``sites/<site>.pages``, and the mapped file: keys, places, bytes. Knows nothing of
pages.

    head       signature, number of entries, where keys and summary begin, three checks
    entries    `PageMemory` as MessagePack, in the order of their keys
    keys       XXH3 of each entry's URL, 64 bits, the lowest byte first like all numbers, sorted
    starts     where in the file each entry begins, in the same order, and where the last one ends
    summary    MessagePack: the site, the last run merged, counts, names of WARC files

It is looked up in place, so ten million pages take hardly any memory. The file is never changed: a
merge writes a new one, makes it durable and renames it (`merging`).
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias, Union

from isal import isal_zlib
from xxhash import xxh3_64_intdigest

from headgate.model.errors import DamagedFile
from headgate.storage.safe_files import opened, reading

__all__ = [
    "HEAD",
    "SIGNATURE",
    "WORD_BYTES",
    "DamagedMemory",
    "MemoryFile",
    "Words",
    "key_of",
]

SIGNATURE = b"headgate pages 1\n".ljust(24, b"\0")
HEAD = struct.Struct("<24sQQQIII")
"""Signature, entries, start of keys, start of summary; CRC-32 of what lies between head and
summary, of the summary, of the head up to here."""
WORD_BYTES = 8
_FEW = 20_000
"""Up to so many words, a loop is faster than importing NumPy."""
Words: TypeAlias = Union["array[int]", "memoryview[int]"]


class DamagedMemory(DamagedFile):
    """The file is not as it was written; it can be rebuilt from the runs' tables."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(
            path, how, "delete it: the next crawl makes it again from the runs' tables"
        )


def key_of(url: str) -> int:
    return xxh3_64_intdigest(url.encode("utf-8", "replace"))


class MemoryFile:
    """Read-only. Entries are numbered 0, 1, ... in the order of their keys."""

    def __init__(self, path: Path) -> None:
        """Raises `DamagedMemory` for damage that shows without reading the whole file."""
        with reading(path), opened(path) as file:
            if os.fstat(file.fileno()).st_size < HEAD.size:
                raise DamagedMemory(path, "cut short")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._keys: Words = array("Q")
        self._starts: Words = array("Q")
        try:
            self._open(path)
        except BaseException:
            self.close()
            raise

    @property
    def size_bytes(self) -> int:
        return len(self._map)

    @property
    def summary(self) -> bytes:
        return self._map[HEAD.unpack_from(self._map)[3] :]

    @property
    def whole(self) -> bool:
        """Whether every byte is as it was written; reads the whole file."""
        _, _, _, end, check, _, _ = HEAD.unpack_from(self._map)
        with memoryview(self._map) as data, data[HEAD.size : end] as between:
            whole = isal_zlib.crc32(between) == check
        return whole and self._starts[0] == HEAD.size and _in_order(self._starts, self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def close(self) -> None:
        for words in (self._keys, self._starts):
            if isinstance(words, memoryview):
                words.release()
        self._map.close()

    def place_of(self, key: int) -> int:
        """The first entry with this key, or where it would be."""
        return bisect_left(self._keys, key)

    def key(self, place: int) -> int:
        return self._keys[place]

    def keys_of(self, begin: int, end: int) -> Words:
        return self._keys[begin:end]

    def starts_of(self, begin: int, end: int) -> Words:
        return self._starts[begin:end]

    def bytes_of(self, begin: int, end: int) -> bytes:
        """The encoded entries from one place up to another."""
        return self._map[self._starts[begin] : self._starts[end]]

    def _open(self, path: Path) -> None:
        signature, count, keys_start, summary_start, _, *checks = HEAD.unpack_from(self._map)
        if signature != SIGNATURE or checks != [
            isal_zlib.crc32(self._map[summary_start:]),
            isal_zlib.crc32(self._map[: HEAD.size - 4]),
        ]:
            raise DamagedMemory(path, "not as it was written")
        try:
            self._keys = self._words(keys_start, count)
            self._starts = self._words(keys_start + count * WORD_BYTES, count + 1)
        except (ValueError, OverflowError):
            raise DamagedMemory(path, "not as it was written") from None

    def _words(self, start: int, count: int) -> Words:
        """Read without conversion: all machines that isal supports are little-endian."""
        end = start + count * WORD_BYTES
        if end > len(self._map):
            raise ValueError("beyond the end of the file")
        return memoryview(self._map)[start:end].cast("Q")


def _in_order(*columns: Words) -> bool:
    return all(map(_ascending, columns))


def _ascending(words: Words) -> bool:
    if len(words) <= _FEW:
        return all(word <= following for word, following in pairwise(words))
    import numpy as np

    column = np.frombuffer(words, np.uint64)
    return bool((column[1:] >= column[:-1]).all())
