"""The frontier's overflow on disk: the adapter of `headgate.frontier.url_queue.Spill`.

Chunks are appended to unnamed files of about `_SEGMENT_BYTES`; memory holds only the position of
each chunk of each lane. A file is closed when its last chunk has been taken, so the disk holds
little more than what waits. Nothing is ever made durable: the files have no name, vanish with the
process, and are rebuilt from the journal after a crash.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec

from headgate.model.errors import WorldFault
from headgate.reading.content_coding import ZstdCompressor, compressed, one_frame
from headgate.storage.safe_files import reading, writing

__all__ = ["DiskSpill"]

_SEGMENT_BYTES = 16 << 20
_LEVEL = 1
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[str]).decode


class _Segment(msgspec.Struct):
    fd: int
    """-1 once closed."""
    end: int = 0
    chunks: int = 0
    """Chunks in the file that are not yet taken."""

    def close(self) -> None:
        os.close(self.fd)
        self.fd = -1


class _Chunk(msgspec.Struct, frozen=True):
    segment: _Segment
    offset: int
    length: int


class DiskSpill:
    """Lanes of chunks in an existing folder."""

    def __init__(self, folder: Path, segment_bytes: int = _SEGMENT_BYTES) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._lanes: dict[int, deque[_Chunk]] = {}
        self._newest: _Segment | None = None
        self._compressor: ZstdCompressor | None = None

    def append(self, lane: int, urls: Sequence[str]) -> None:
        if self._compressor is None:  # most sites never need one
            self._compressor = ZstdCompressor(level=_LEVEL)
        packed = compressed(self._compressor, _encode(urls))
        segment = self._segment()
        with writing(self._folder):
            _write_all(segment.fd, packed, segment.end)
        chunk = _Chunk(segment, segment.end, len(packed))
        segment.end += len(packed)
        segment.chunks += 1
        self._lanes.setdefault(lane, deque()).append(chunk)

    def pop(self, lane: int) -> list[str]:
        chunks = self._lanes[lane]
        chunk = chunks[0]
        with reading(self._folder):
            packed = os.pread(chunk.segment.fd, chunk.length, chunk.offset)
        if len(packed) < chunk.length:
            raise WorldFault(f"cannot read {self._folder}: waiting URLs were cut short; --resume")
        urls = _decode(one_frame(packed))
        chunks.popleft()
        if not chunks:
            del self._lanes[lane]
        self._let_go(chunk.segment)
        return urls

    def close(self) -> None:
        """Free all space; the lanes are lost."""
        segments = {
            id(chunk.segment): chunk.segment for lane in self._lanes.values() for chunk in lane
        }
        if self._newest is not None:
            segments[id(self._newest)] = self._newest
        for segment in segments.values():
            segment.close()
        self._lanes.clear()
        self._newest = None

    def check(self) -> None:
        """Invariant: each segment counts exactly the chunks that lanes hold in it."""
        held: dict[int, int] = {}
        for lane in self._lanes.values():
            if not lane:
                raise AssertionError("an empty lane is kept")
            for chunk in lane:
                held[id(chunk.segment)] = held.get(id(chunk.segment), 0) + 1
                if chunk.segment.fd < 0:
                    raise AssertionError("a chunk lies in a file that was let go")
        for lane in self._lanes.values():
            for chunk in lane:
                if held[id(chunk.segment)] != chunk.segment.chunks:
                    raise AssertionError("a segment miscounts its chunks")

    def _segment(self) -> _Segment:
        if self._newest is None or self._newest.end >= self._segment_bytes:
            with writing(self._folder):
                fd, name = tempfile.mkstemp(prefix="overflow-", dir=self._folder)
                Path(name).unlink()
            self._newest = _Segment(fd)
        return self._newest

    def _let_go(self, segment: _Segment) -> None:
        segment.chunks -= 1
        if segment.chunks:
            return
        if segment is self._newest:
            segment.end = 0
        else:
            segment.close()


def _write_all(fd: int, data: bytes, offset: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, offset)
        rest = rest[written:]
        offset += written
