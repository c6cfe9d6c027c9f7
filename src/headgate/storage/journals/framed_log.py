"""A log of frames, one for each commit: the format of journals and survey logs.

    first line  ─► what kind of log this is, and of which version
    frame       ─► mark, lengths of the sections, CRC-32 of them all, the sections, compressed

A commit is in the log completely or not at all, and readers decompress only the sections they need.
A crash leaves at most one incomplete frame, the last; it is cut off when the log is opened again. A
bad frame followed by a good one is not the result of a crash: it is reported, and nothing is cut.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from isal import isal_zlib

from headgate.model.errors import DamagedFile, HeadgateError, OtherVersion, WorldFault
from headgate.reading.content_coding import (
    ZstdCompressor,
    ZstdError,
    compressed,
    frame_bytes,
    one_frame,
)
from headgate.storage.append_file import AppendFile, sync_folder
from headgate.storage.safe_files import opened, reading

__all__ = ["FramedLog", "LogFrame", "LogKind"]

_LONGEST_LINE = 10_000


class LogFrame(NamedTuple):
    """Its start and end in the file, and its compressed sections."""

    start: int
    end: int
    sections: Sequence[bytes]


class LogKind(msgspec.Struct, frozen=True):
    """One kind of log, and how to read it."""

    signature: bytes
    """Begins the first line; more may follow in it."""
    mark: bytes
    """Four bytes that begin a frame."""
    sections: int
    level: int
    """Of compression."""
    foreign: str
    """The message about a file that is something else."""
    other_version: str
    """What to do about a log that another version wrote."""
    remedy: str
    """What to do about one that is damaged."""

    @property
    def header(self) -> struct.Struct:
        return struct.Struct(f"<4s{self.sections + 1}I")

    def first_line(self, path: Path) -> bytes:
        """Empty: a crash came before it was written."""
        with reading(path), opened(path) as file:
            line = file.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            return b""
        if not line.startswith(self.signature):
            raise self.foreign_file(path, line)
        return line

    def frames(self, path: Path) -> Iterator[LogFrame]:
        """All complete frames, in order; none if there is no file, or not even a complete first
        line."""
        if not path.exists():
            return
        with reading(path), opened(path) as file:
            line = file.readline(_LONGEST_LINE)
            if not line.startswith(self.signature):
                if line.endswith(b"\n"):
                    raise self.foreign_file(path, line)
                return
            while (frame := self.read(file)) is not None:
                yield frame

    def frames_at(self, path: Path, starts: Iterable[int]) -> Iterator[LogFrame]:
        """The frames that begin at these offsets, known from `frames`."""
        with reading(path), opened(path) as file:
            for start in starts:
                file.seek(start)
                frame = self.read(file)
                if frame is None:
                    raise DamagedFile(path, f"no whole entry at byte {start:,}", self.remedy)
                yield frame

    def frame_at(self, path: Path, start: int) -> LogFrame | None:
        with reading(path), opened(path) as file:
            file.seek(start)
            return self.read(file)

    def read(self, file: BinaryIO) -> LogFrame | None:
        """The frame at the current position; None: there is no complete one."""
        start, header = file.tell(), self.header
        head = file.read(header.size)
        if len(head) < header.size:
            return None
        mark, *lengths, check = header.unpack(head)
        if mark != self.mark:
            return None
        sections = [file.read(length) for length in lengths]
        return LogFrame(start, file.tell(), sections) if _check(sections) == check else None

    def plain(self, path: Path, section: bytes) -> bytes:
        with self.sound(path):
            return one_frame(section)

    def plain_bytes(self, path: Path, section: bytes) -> int:
        """Its length after decompression, as it says itself."""
        with self.sound(path):
            return frame_bytes(section)

    @contextmanager
    def sound(self, path: Path) -> Iterator[None]:
        """Around decoding: a file made on purpose may have right checksums."""
        try:
            yield
        except (
            msgspec.MsgspecError, ZstdError, UnicodeDecodeError, MemoryError
        ) as error:  # fmt: skip
            raise DamagedFile(path, str(error), self.remedy) from None

    def foreign_file(self, path: Path, first_line: bytes) -> HeadgateError:
        """The error for a file that does not begin as this kind of log does."""
        name, version = self.signature.split()[1:]
        match first_line.split(maxsplit=3):
            case [b"headgate", kind, number, *_] if kind == name and number != version:
                how = f"version {number.decode('ascii', 'replace')}, not {version.decode()}"
                return OtherVersion(path, how, self.other_version)
        return WorldFault(f"{path} {self.foreign}")


class FramedLog:
    """Opened for writing; a torn tail is cut off first. A new file is created by the first frame,
    so that opening a log does not wait for the disk."""

    __slots__ = ("_compressor", "_file", "_first_line", "_kind", "last", "path")

    def __init__(self, path: Path, kind: LogKind, first_line: bytes) -> None:
        self.path = path
        self.last: LogFrame | None = None
        """The last frame found; None: there was none."""
        self._kind = kind
        self._compressor = ZstdCompressor(level=kind.level)
        self._first_line = first_line
        self._file: AppendFile | None = None
        if path.exists():
            end = self._find_end()
            if end:
                self._file = AppendFile(path, end)

    def append(self, *plain: bytes) -> None:
        """Write one frame of these sections and make it durable."""
        self.append_all([plain])

    def append_all(self, frames: Iterable[Sequence[bytes]]) -> list[int]:
        """Write frames and make them durable together; returns their offsets."""
        file, new = self._file, self._file is None
        if file is None:
            file = self._file = AppendFile(self.path)
            file.append(self._first_line)
        starts = [self._put(file, plain) for plain in frames]
        file.sync()
        if new:
            sync_folder(self.path.parent)
        return starts

    def _put(self, file: AppendFile, plain: Sequence[bytes]) -> int:
        sections = [compressed(self._compressor, section) for section in plain]
        header = self._kind.header.pack(self._kind.mark, *map(len, sections), _check(sections))
        start = file.append(header)
        for section in sections:
            file.append(section)
        return start

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _find_end(self) -> int:
        """Offset of the end of the last complete frame; 0: not even the first line is complete."""
        with reading(self.path), opened(self.path) as file:
            found = file.readline(_LONGEST_LINE)
            if found != self._first_line:
                if not self._first_line.startswith(found.rstrip(b"\0")):
                    raise self._kind.foreign_file(self.path, found)
                return 0
            end = file.tell()
            while (frame := self._kind.read(file)) is not None:
                end, self.last = frame.end, frame
            self._refuse_hole(file, end)
        return end

    def _refuse_hole(self, file: BinaryIO, end: int) -> None:
        file.seek(end)
        rest = file.read()
        at = rest.find(self._kind.mark, 1)
        while at >= 0:
            file.seek(end + at)
            if self._kind.read(file) is not None:
                raise WorldFault(
                    f"{self.path} is damaged at byte {end:,}: whole entries follow a broken one; "
                    f"{self._kind.remedy}"
                )
            at = rest.find(self._kind.mark, at + 1)


def _check(sections: Sequence[bytes]) -> int:
    check = 0
    for section in sections:
        check = isal_zlib.crc32(section, check)
    return check
