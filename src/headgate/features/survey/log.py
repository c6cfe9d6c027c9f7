"""The log of a survey: one entry per request, in a log of frames (`framed_log`).

The log stays with the survey: its tables are made from it, and the next survey reads from it what
has changed.

Finding a URL costs a hash look-up and, unless its frame was read just now, one frame (what half a
second brought). The index takes some 100 bytes per URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec
from xxhash import xxh3_64_intdigest

from headgate.features.survey.strategy.entries import RequestEnding, ServerRecord, SurveyEntry
from headgate.storage.journals.framed_log import FramedLog, LogFrame, LogKind

__all__ = ["SurveyFile", "SurveyIndex", "SurveyLog", "read_survey"]

_KIND = LogKind(
    signature=b"headgate survey 1\n",
    mark=b"\xf5HS\xa1",
    sections=1,
    level=3,
    foreign="is no log of a survey; move the folder of its run away",
    other_version="move the folder of its run away",
    remedy="restore it from a copy, or move the folder of its run away",
)
_FRAMES_KEPT = 64
_ROUGH_BYTES_PER_LINK = 60
_ROUGH_BYTES_PER_ENTRY = 400

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[SurveyEntry]).decode


class SurveyFile:
    """Opened for writing. `put` is called in one thread, `commit` in any: entries put during a
    commit wait for the next."""

    def __init__(self, path: Path) -> None:
        self._log = FramedLog(path, _KIND, _KIND.signature)
        self.stored = sum(len(entries) for _, entries in _frames(path))
        """Entries that are durable."""
        self._waiting: list[SurveyEntry] = []
        self.waiting_bytes = 0
        """Roughly what waits to be committed."""

    def begin(self) -> None:
        """Make the file now, without an entry."""
        self._log.append_all(())

    def put(self, entry: SurveyEntry) -> None:
        self._waiting.append(entry)
        self.waiting_bytes += _ROUGH_BYTES_PER_ENTRY + _ROUGH_BYTES_PER_LINK * len(entry.links)

    def commit(self) -> int:
        entries, self._waiting = self._waiting, []
        self.waiting_bytes = 0
        if entries:
            self._log.append(_encoded(entries))
            self.stored += len(entries)
        return self.stored

    def close(self) -> None:
        self._log.close()


def read_survey(path: Path) -> Iterator[SurveyEntry]:
    """All entries of complete frames, in order."""
    for _, entries in _frames(path):
        yield from entries


class SurveyIndex:
    """Entries of a log by URL, newest first, without robots.txt; totals by server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._frame_of: dict[int, int] = {}
        self._servers: dict[str, ServerRecord] = {}
        self._read = lru_cache(_FRAMES_KEPT)(self._read_frame)
        for frame, entries in _frames(path):
            for entry in entries:
                self._count(entry)
                if entry.ending is not RequestEnding.ROBOTS:
                    self._frame_of[xxh3_64_intdigest(entry.url.encode())] = frame.start

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

    def _read_frame(self, start: int) -> dict[str, SurveyEntry]:
        frame = _KIND.frame_at(self._path, start)
        entries = [] if frame is None else _entries(self._path, frame)
        return {entry.url: entry for entry in entries if entry.ending is not RequestEnding.ROBOTS}


def _frames(path: Path) -> Iterator[tuple[LogFrame, list[SurveyEntry]]]:
    return ((frame, _entries(path, frame)) for frame in _KIND.frames(path))


def _entries(path: Path, frame: LogFrame) -> list[SurveyEntry]:
    plain = _KIND.plain(path, frame.sections[0])
    with _KIND.sound(path):
        return _decode(plain)


def _encoded(entries: Sequence[SurveyEntry]) -> bytes:
    try:
        return _encode(entries)
    except UnicodeEncodeError:  # a hostile page may contain a lone surrogate
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


class SurveyLog(Protocol):
    """Every request of a survey, durable once committed."""

    @property
    def waiting_bytes(self) -> int: ...

    def put(self, entry: SurveyEntry) -> None: ...

    def commit(self) -> int:
        """Store everything added, which may block; returns the number of entries stored."""
        ...
