"""Content codings: a payload as the server meant it, and no more of it than wanted.

gzip, deflate (with and without its zlib frame), br and zstd, one after the other as the header
lists them, at most `_MOST_CODINGS`. Decoding goes piece by piece and stops at the limit, so that a
few kilobytes that would become gigabytes cost neither memory nor time. A stream that breaks off or
is damaged gives what could be read of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import brotli
import zstandard

__all__ = ["Content", "decode_content"]

_PIECE_BYTES = 64 * 1024
_MOST_CODINGS = 3
_DAMAGE = (zlib.error, brotli.error, zstandard.ZstdError, EOFError)


@dataclass(frozen=True, slots=True)
class Content:
    """A decoded payload."""

    data: bytes
    whole: bool
    """False: cut off at the limit, damaged, or in a coding nobody asked for."""


def decode_content(payload: bytes, coding: str, most_bytes: int) -> Content:
    """Decode a payload by its Content-Encoding header.

    >>> decode_content(zlib.compress(b"a" * 1000), "deflate", 5)
    Content(data=b'aaaaa', whole=False)
    """
    names = [name.strip().lower() for name in coding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > _MOST_CODINGS:
        return Content(b"", whole=False)
    content = Content(payload, whole=True)
    for name in reversed(names):
        pieces = _PIECES.get(name)
        if pieces is None:
            return Content(content.data[:most_bytes], whole=False)
        decoded = _collected(pieces(content.data), most_bytes)
        content = Content(decoded.data, decoded.whole and content.whole)
    if len(content.data) > most_bytes:
        return Content(content.data[:most_bytes], whole=False)
    return content


def _collected(pieces: Iterator[bytes], most_bytes: int) -> Content:
    parts: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            parts.append(piece)
            size += len(piece)
            if size > most_bytes:
                return Content(b"".join(parts)[:most_bytes], whole=False)
    except _DAMAGE:
        return Content(b"".join(parts), whole=False)
    return Content(b"".join(parts), whole=True)


def _gzip(data: bytes) -> Iterator[bytes]:
    """All members, one after the other; what is no gzip behind the last is passed over."""
    while data[:2] == b"\x1f\x8b":
        stream = zlib.decompressobj(wbits=31)
        yield from _inflated(stream, data)
        data = stream.unused_data


def _deflate(data: bytes) -> Iterator[bytes]:
    """With a zlib frame as the standard says, or without as some servers send it."""
    framed = len(data) > 1 and data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    yield from _inflated(zlib.decompressobj(wbits=15 if framed else -15), data)


def _inflated(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    yield stream.decompress(data, _PIECE_BYTES)
    while not stream.eof:
        piece = stream.decompress(stream.unconsumed_tail, _PIECE_BYTES)
        if not piece and not stream.unconsumed_tail:
            raise EOFError
        yield piece


def _brotli(data: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    piece = stream.process(data, output_buffer_limit=_PIECE_BYTES)
    while True:
        yield piece
        if stream.is_finished():
            return
        if stream.can_accept_more_data():
            raise EOFError
        piece = stream.process(b"", output_buffer_limit=_PIECE_BYTES)


def _zstd(data: bytes) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(
        data, read_across_frames=True
    )
    while piece := reader.read(_PIECE_BYTES):
        yield piece


_PIECES: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
