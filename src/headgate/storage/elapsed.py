"""How long a run has been crawling, saved every two seconds.

Replacing a file takes three waits for the disk; writing in place takes one, and a tenth of the CPU.
Two slots with checksums are written in turn, so that a torn write costs one of them.
"""

from __future__ import annotations

import struct
from pathlib import Path
from zlib import crc32

import msgspec

from headgate.model.errors import DamagedFile
from headgate.storage.replacing import overwrite, write_whole

__all__ = ["Elapsed", "ElapsedFile", "decode_elapsed"]

_LONGEST_SECONDS = 1e10
_RECORD = struct.Struct("<d?")
_CHECKSUM = struct.Struct("<I")
_SLOT_BYTES = _RECORD.size + _CHECKSUM.size


class Elapsed(msgspec.Struct, frozen=True, order=True):
    """The later of two is the larger."""

    seconds: float
    ended: bool
    """In order: no time is missing."""


class ElapsedFile:
    """Written by one leg."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writes = 0

    def write(self, elapsed: Elapsed) -> None:
        """Durable when this returns."""
        record = _RECORD.pack(elapsed.seconds, elapsed.ended)
        slot = record + _CHECKSUM.pack(crc32(record))
        if self._writes == 0:
            write_whole(self._path, 2 * slot)
        else:
            overwrite(self._path, self._writes % 2 * _SLOT_BYTES, slot)
        self._writes += 1


def decode_elapsed(data: bytes, path: Path, between: float) -> float:
    """Seconds of crawling, rounded up: to a leg that was killed, the most that may have passed
    since its last write (``between`` two writes) is added."""
    slots = (data[start : start + _SLOT_BYTES] for start in (0, _SLOT_BYTES))
    found = [elapsed for slot in slots if (elapsed := _decoded(slot)) is not None]
    if not found:
        remedy = "delete it: the run goes on, its time counted anew"
        raise DamagedFile(path, "no time in it, or another version of Headgate wrote it", remedy)
    last, torn = max(found), 2 - len(found)
    return last.seconds if last.ended else last.seconds + between * (1 + torn)


def _decoded(slot: bytes) -> Elapsed | None:
    record, checksum = slot[: _RECORD.size], slot[_RECORD.size :]
    if checksum != _CHECKSUM.pack(crc32(record)):
        return None
    elapsed = Elapsed(*_RECORD.unpack(record))
    return elapsed if 0 <= elapsed.seconds <= _LONGEST_SECONDS else None
