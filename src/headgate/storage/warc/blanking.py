"""Removes records from WARC files without moving the others.

Indexes, tables and memories refer to records by offset. So a removed record is replaced by one of
the same length, a ``metadata`` record of zeros in an uncompressed gzip member. The zeros are a hole
in the file, which takes no space; readers see a valid file with some empty records.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from headgate.storage.atomic_write import replacing
from headgate.storage.safe_files import writing
from headgate.storage.warc.records import record_id, utc_text

__all__ = ["blank_out", "blank_pieces", "member_end"]

_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_TRAILER_BYTES = 8
_BLOCK_HEAD_BYTES, _MOST_IN_BLOCK = 5, 65_535
_GZIP_WINDOW_BITS = 31
_COPY_BYTES = 1 << 20
_END = b"\r\n\r\n"

Region = tuple[int, int]
"""Start and end."""


def blank_out(path: Path, regions: Sequence[Region], wall_time: float) -> None:
    """In one durable step; idempotent. Regions are whole members, in order, not adjacent."""
    with writing(path), replacing(path) as part, path.open("rb") as old, part.open("wb") as new:
        at = 0
        for start, end in regions:
            pieces = blank_pieces(end - start, wall_time)
            if pieces is None:
                continue  # too small for a blank record: it stays
            _copy(old, new, at, start)
            for offset, data in pieces:
                new.seek(start + offset)
                new.write(data)
            at = end
        size = os.fstat(old.fileno()).st_size
        _copy(old, new, at, size)
        new.truncate(size)


def blank_pieces(length: int, wall_time: float) -> list[tuple[int, bytes]] | None:
    """The non-zero bytes of a blank member of this length, by offset; None: it is too short.

    >>> member = bytearray(1000)
    >>> for offset, data in blank_pieces(1000, 0.0):
    ...     member[offset : offset + len(data)] = data
    >>> record = zlib.decompress(bytes(member), 31)
    >>> head, _, block = record.partition(_END)
    >>> head.split(_END[:2])[-1] == b"Content-Length: %d" % (len(block) - 4), block[-5:]
    (True, b'\\x00\\r\\n\\r\\n')
    """
    inside = length - len(_GZIP_HEAD) - _TRAILER_BYTES
    blocks = -(-inside // (_MOST_IN_BLOCK + _BLOCK_HEAD_BYTES))
    size = inside - blocks * _BLOCK_HEAD_BYTES
    """Of the record."""
    head = _head(size, wall_time)
    if head is None:
        return None
    zeros = size - len(head) - len(_END)
    pieces = [(0, _GZIP_HEAD)]
    for block in range(blocks):
        before = min(block * _MOST_IN_BLOCK, size)
        held = min(_MOST_IN_BLOCK, size - before)
        at = len(_GZIP_HEAD) + block * _BLOCK_HEAD_BYTES + before
        is_last = block == blocks - 1
        pieces.append((at, struct.pack("<BHH", is_last, held, held ^ 0xFFFF)))
    pieces += _placed(0, head)
    pieces += _placed(size - len(_END), _END)
    checksum = zlib.crc32(_END, _crc_of_zeros(zlib.crc32(head), zeros))
    pieces.append((length - _TRAILER_BYTES, struct.pack("<II", checksum, size & 0xFFFFFFFF)))
    return pieces


def member_end(file: int, start: int) -> int | None:
    """The end of the gzip member at ``start``; None: there is none."""
    reader = zlib.decompressobj(_GZIP_WINDOW_BITS)
    at = start
    while not reader.eof:
        data = os.pread(file, _COPY_BYTES, at)
        if not data:
            return None
        try:
            while data and not reader.eof:
                reader.decompress(data, _COPY_BYTES)
                at += len(data) - len(reader.unconsumed_tail) - len(reader.unused_data)
                data = reader.unconsumed_tail
        except zlib.error:
            return None
    return at


def _head(size: int, wall_time: float) -> bytes | None:
    fixed = (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {record_id()}\r\n"
        f"WARC-Date: {utc_text(wall_time)}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: "
    ).encode()
    for digits in range(1, 12):
        zeros = size - len(fixed) - digits - 2 * len(_END)
        if zeros >= 0 and len(str(zeros)) == digits:
            return fixed + str(zeros).encode() + _END
    return None


def _placed(start: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Positions of the record's bytes, around the block headers."""
    while data:
        block, within = divmod(start, _MOST_IN_BLOCK)
        fits = data[: _MOST_IN_BLOCK - within]
        before = len(_GZIP_HEAD) + (block + 1) * _BLOCK_HEAD_BYTES
        yield before + start, fits
        start, data = start + len(fits), data[len(fits) :]


def _crc_of_zeros(checksum: int, count: int) -> int:
    some = bytes(_COPY_BYTES)
    while count > 0:
        checksum = zlib.crc32(some[:count], checksum)
        count -= len(some)
    return checksum


def _copy(old: BinaryIO, new: BinaryIO, start: int, end: int) -> None:
    old.seek(start)
    new.seek(start)
    while start < end and (data := old.read(min(_COPY_BYTES, end - start))):
        new.write(data)
        start += len(data)
