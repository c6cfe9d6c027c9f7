"""``validators.bin``: what a later run needs to ask "has this page changed?".

For each page of a run with a payload: its ETag, Last-Modified, digest, and the record that holds
the payload. The file is looked up in place through a memory map, so a run of ten million pages
costs no memory to speak of:

    signature, number of pages
    keys       the first eight bytes of BLAKE2b of each URL, sorted
    starts     where in the file the entry of each key begins, in the same order
    entries    the next eight bytes of the hash, a length, and an `Earlier` as MessagePack

Sixteen bytes of hash make a mistaken URL impossible in practice, and nobody can construct one.

An entry of a page that was not modified names the record of the older run, so chains of revisits
always point to bytes that exist.
"""

from __future__ import annotations

import mmap
import shutil
import struct
from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Self

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.model.errors import WorldFault
from headgate.model.page import Earlier
from headgate.storage.faults import reading, writing
from headgate.storage.page import PageRow

__all__ = ["Validators", "write_validators"]

_SIGNATURE = b"headgate validators 1\n".ljust(24, b"\0")
_COUNT = struct.Struct("<Q")
_KEYS_START = len(_SIGNATURE) + _COUNT.size
_WORD_BYTES = 8
_ENTRY = struct.Struct("<8sI")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Earlier).decode
_Words = npt.NDArray[np.uint64]


def write_validators(path: Path, rows: Iterable[PageRow]) -> None:
    """Write the file; sixteen bytes per page stay in memory meanwhile."""
    heap = path.with_name(f"{path.name}.heap")
    with writing(path):
        try:
            with heap.open("wb") as heap_file:
                keys, starts = _write_heap(heap_file, rows)
            _assemble(path, heap, keys, starts)
        finally:
            heap.unlink(missing_ok=True)


class Validators:
    """Looks URLs up in the files of earlier runs, the newest first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [_ValidatorFile(path) for path in paths if path.exists()]

    def find(self, url: str) -> Earlier | None:
        """What is known of a URL; None: nothing."""
        hashed = _hash(url)
        for file in self._files:
            found = file.find(url, hashed)
            if found is not None:
                return found
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files = []


class _ValidatorFile:
    """One run's file, mapped."""

    __slots__ = ("_keys", "_map", "_starts")

    def __init__(self, path: Path) -> None:
        with reading(path), path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._map[: len(_SIGNATURE)] != _SIGNATURE:
            self._map.close()
            raise WorldFault(f"{path} is not a file of this version of Headgate; move it away")
        (count,) = _COUNT.unpack_from(self._map, len(_SIGNATURE))
        self._keys: _Words = np.frombuffer(self._map, "<u8", count, _KEYS_START)
        starts_start = _KEYS_START + count * _WORD_BYTES
        self._starts: _Words = np.frombuffer(self._map, "<u8", count, starts_start)

    def find(self, url: str, hashed: bytes) -> Earlier | None:
        key = np.uint64(int.from_bytes(hashed[:_WORD_BYTES], "little"))
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        start = int(self._starts[place])
        rest_of_hash, length = _ENTRY.unpack_from(self._map, start)
        if rest_of_hash != hashed[_WORD_BYTES:]:
            return None
        start += _ENTRY.size
        found = _decode(self._map[start : start + length])
        return found if found.url else msgspec.structs.replace(found, url=url)

    def close(self) -> None:
        del self._keys, self._starts
        self._map.close()


def _hash(url: str) -> bytes:
    return blake2b(url.encode("utf-8", "replace"), digest_size=2 * _WORD_BYTES).digest()


def _can_be_revalidated(row: PageRow) -> bool:
    """Its body is whole and in the archive, here or, for a 304, in an earlier run."""
    held = row.status == HTTPStatus.OK or (
        row.status == HTTPStatus.NOT_MODIFIED and bool(row.original_url)
    )
    return held and bool(row.digest) and not row.truncated


def _earlier(row: PageRow) -> Earlier:
    """An empty URL stands for the row's own, which need not be kept twice."""
    return Earlier(
        url="" if row.original_url == row.url else row.original_url,
        wall_time=row.original_at or row.fetched_at,
        digest=row.digest,
        etag=row.etag,
        last_modified=row.last_modified,
    )


def _write_heap(file: BinaryIO, rows: Iterable[PageRow]) -> tuple[array[int], array[int]]:
    keys, starts, end = array("Q"), array("Q"), 0
    for row in rows:
        if not _can_be_revalidated(row):
            continue
        hashed, packed = _hash(row.url), _encode(_earlier(row))
        keys.append(int.from_bytes(hashed[:_WORD_BYTES], "little"))
        starts.append(end)
        file.write(_ENTRY.pack(hashed[_WORD_BYTES:], len(packed)))
        file.write(packed)
        end += _ENTRY.size + len(packed)
    return keys, starts


def _assemble(path: Path, heap: Path, key_list: array[int], start_list: array[int]) -> None:
    keys, starts = np.array(key_list, "<u8"), np.array(start_list, "<u8")
    order = np.argsort(keys, kind="stable")
    keys, starts = keys[order], starts[order]
    # Of a URL fetched twice the later entry holds.
    newest = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
    keys, starts = keys[newest], starts[newest]
    heap_start = _KEYS_START + 2 * _WORD_BYTES * len(keys)
    with path.open("wb") as file:
        file.write(_SIGNATURE + _COUNT.pack(len(keys)))
        file.write(keys.tobytes())
        file.write((starts + np.uint64(heap_start)).tobytes())
        with heap.open("rb") as heap_file:
            shutil.copyfileobj(heap_file, file, 1 << 20)
