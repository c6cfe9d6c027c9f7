"""How long a run has been crawling, saved every second, in a pause every ten.

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
_RECORD = struct.Struct("<dd")
_CHECKSUM = struct.Struct("<I")
_SLOT_BYTES = _RECORD.size + _CHECKSUM.size


class Elapsed(msgspec.Struct, frozen=True):
    """A moment of a run."""

    seconds: float
    next_within: float
    """Seconds until the next write at most; 0: none will come, the leg ended in order."""


class ElapsedFile:
    """Written by one leg."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writes = 0

    def write(self, elapsed: Elapsed) -> None:
        """Durable when this returns."""
        record = _RECORD.pack(elapsed.seconds, elapsed.next_within)
        slot = record + _CHECKSUM.pack(crc32(record))
        if self._writes == 0:
            write_whole(self._path, 2 * slot)
        else:
            overwrite(self._path, self._writes % 2 * _SLOT_BYTES, slot)
        self._writes += 1


def decode_elapsed(data: bytes, path: Path, most_between: float) -> float:
    """Seconds of crawling, rounded up: to a leg that was killed, the most that may have passed
    since its last write is added. ``most_between`` two writes follows a torn one, which does not
    say it."""
    slots = (data[start : start + _SLOT_BYTES] for start in (0, _SLOT_BYTES))
    found = [elapsed for slot in slots if (elapsed := _decoded(slot)) is not None]
    if not found:
        remedy = "delete it: the run goes on, its time counted anew"
        raise DamagedFile(path, "no time in it, or another version of Headgate wrote it", remedy)
    last = max(found, key=lambda elapsed: (elapsed.seconds, -elapsed.next_within))
    torn = len(found) < 2 and last.next_within > 0
    return last.seconds + last.next_within + (most_between if torn else 0.0)


def _decoded(slot: bytes) -> Elapsed | None:
    record, checksum = slot[: _RECORD.size], slot[_RECORD.size :]
    if checksum != _CHECKSUM.pack(crc32(record)):
        return None
    seconds, next_within = _RECORD.unpack(record)
    plausible = 0 <= seconds <= _LONGEST_SECONDS and 0 <= next_within <= _LONGEST_SECONDS
    return Elapsed(seconds, next_within) if plausible else None
