"""The log of a survey: one entry per request, in frames, one frame per commit.

A frame is compressed MessagePack under a CRC. A crash leaves at most one frame that is not whole,
the last; it is cut off when the log is opened again. The log stays with the survey: its tables are
made of it, and the next survey asks it what has changed.

Finding a URL costs a hash look-up and, unless its frame was read just now, one frame (what half a
second brought). The index takes some 100 bytes per URL.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import zstandard
from isal import isal_zlib
from xxhash import xxh3_64_intdigest

from headgate.model.errors import WorldFault
from headgate.storage.appending import AppendFile, sync_folder
from headgate.storage.faults import reading
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.memory import ServerRecord

__all__ = ["SURVEY_LOG", "SurveyFile", "SurveyIndex", "read_survey"]

SURVEY_LOG = "survey.log"
"""What it is called in the folder of a run."""

_SIGNATURE = b"headgate survey 1\n"
_FRAME = struct.Struct("<4sII")
"""Mark, length, CRC-32."""
_MARK = b"\xf5HS\xa1"
_LEVEL = 3
_FRAMES_KEPT = 64
_ROUGH_BYTES_PER_LINK = 60
_ROUGH_BYTES_PER_ENTRY = 400

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[SurveyEntry]).decode


class SurveyFile:
    """Opened for writing; a torn tail is cut off first. `put` from one thread, `commit` from any
    other: what was put while a commit runs waits for the next."""

    def __init__(self, path: Path) -> None:
        self.stored = 0
        """Entries that are durable."""
        self._waiting: list[SurveyEntry] = []
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self.waiting_bytes = 0
        """Roughly what waits to be committed."""
        good = 0
        if path.exists():
            for offset, entries in _frames(path):
                good = offset
                self.stored += len(entries)
        self._file = AppendFile(path, good)
        if good == 0:
            self._file.append(_SIGNATURE)
            self._file.sync()
            sync_folder(path.parent)

    def put(self, entry: SurveyEntry) -> None:
        self._waiting.append(entry)
        self.waiting_bytes += _ROUGH_BYTES_PER_ENTRY + _ROUGH_BYTES_PER_LINK * len(entry.links)

    def commit(self) -> int:
        entries, self._waiting = self._waiting, []
        self.waiting_bytes = 0
        if entries:
            data = self._compressor.compress(_encoded(entries))
            self._file.append(_FRAME.pack(_MARK, len(data), isal_zlib.crc32(data)))
            self._file.append(data)
            self._file.sync()
            self.stored += len(entries)
        return self.stored

    def close(self) -> None:
        self._file.close()


def read_survey(path: Path) -> Iterator[SurveyEntry]:
    """All entries of whole frames, in their order."""
    for _, entries in _frames(path):
        yield from entries


class SurveyIndex:
    """Entries of a log by their URL, the latest first, robots.txt left out; sums by server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._frame_of: dict[int, int] = {}
        self._servers: dict[str, ServerRecord] = {}
        self._read = lru_cache(_FRAMES_KEPT)(self._read_frame)
        before = len(_SIGNATURE)
        for end, entries in _frames(path):
            for entry in entries:
                self._count(entry)
                if entry.ending is not Ending.ROBOTS:
                    self._frame_of[xxh3_64_intdigest(entry.url.encode())] = before
            before = end

    def find(self, url: str) -> SurveyEntry | None:
        offset = self._frame_of.get(xxh3_64_intdigest(url.encode()))
        return None if offset is None else self._read(offset).get(url)

    def server(self, domain: str) -> ServerRecord | None:
        return self._servers.get(domain)

    def _count(self, entry: SurveyEntry) -> None:
        record = self._servers.get(entry.domain)
        if record is None:
            record = self._servers[entry.domain] = ServerRecord(silent=entry.detail)
        record.requests += entry.requests
        record.wire_bytes += entry.wire_bytes
        if entry.status:
            record.silent = ""

    def _read_frame(self, offset: int) -> dict[str, SurveyEntry]:
        with reading(self._path), self._path.open("rb") as file:
            file.seek(offset)
            _, length, _ = _FRAME.unpack(file.read(_FRAME.size))
            data = file.read(length)
        entries = _decode(zstandard.ZstdDecompressor().decompress(data))
        return {entry.url: entry for entry in entries if entry.ending is not Ending.ROBOTS}


def _frames(path: Path) -> Iterator[tuple[int, list[SurveyEntry]]]:
    """Where each whole frame ends, and what it holds; first where the first begins."""
    plain = zstandard.ZstdDecompressor().decompress
    with reading(path), path.open("rb") as file:
        line = file.readline()
        if not line.startswith(_SIGNATURE):
            if _SIGNATURE.startswith(line):
                return  # torn at birth
            raise WorldFault(f"{path} is no log of a survey")
        end = len(_SIGNATURE)
        yield end, []
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            mark, length, check = _FRAME.unpack(head)
            data = file.read(length) if mark == _MARK else b""
            if len(data) < length or mark != _MARK or isal_zlib.crc32(data) != check:
                return
            end += _FRAME.size + length
            yield end, _decode(plain(data))


def _encoded(entries: Sequence[SurveyEntry]) -> bytes:
    try:
        return _encode(entries)
    except UnicodeEncodeError:  # a hostile page can hold half a surrogate pair
        return _encode([_writable(entry) for entry in entries])


def _writable(entry: SurveyEntry) -> SurveyEntry:
    links = [(_plain(url), _plain(anchor)) for url, anchor in entry.links]
    return msgspec.structs.replace(
        entry,
        links=links,
        language=_plain(entry.language),
        detail=_plain(entry.detail),
        new_hosts=[_plain(name) for name in entry.new_hosts],
    )


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
