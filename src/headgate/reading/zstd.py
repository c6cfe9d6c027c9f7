"""Zstandard: of the standard library from Python 3.14 on, before that its backport."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import (
        DecompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdError,
        get_frame_info,
    )
else:
    from backports.zstd import (
        DecompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdError,
        get_frame_info,
    )

__all__ = [
    "DecompressionParameter",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdError",
    "compressed",
    "frame_bytes",
    "one_frame",
]


def compressed(compressor: ZstdCompressor, data: bytes) -> bytes:
    """As one frame, which says how long the data is."""
    return compressor.compress(data, ZstdCompressor.FLUSH_FRAME)


def one_frame(frame: bytes) -> bytes:
    """Its data: never more than the frame itself says that there is.

    >>> one_frame(compressed(ZstdCompressor(), b"abc"))
    b'abc'
    """
    stream = ZstdDecompressor()
    data = stream.decompress(frame, frame_bytes(frame))
    if not stream.eof:
        raise ZstdError("a frame is cut short")
    return data


def frame_bytes(frame: bytes) -> int:
    """How long its data is, by its own word."""
    size = get_frame_info(frame).decompressed_size
    if size is None:
        raise ZstdError("a frame does not say its size")
    return size
