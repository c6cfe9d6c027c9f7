"""Zstandard: from the standard library since Python 3.14, before that from its backport."""

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
    """One frame that contains the length of the data."""
    return compressor.compress(data, ZstdCompressor.FLUSH_FRAME)


def one_frame(frame: bytes) -> bytes:
    """Its data: never more than the length in the frame.

    >>> one_frame(compressed(ZstdCompressor(), b"abc"))
    b'abc'
    """
    stream = ZstdDecompressor()
    data = stream.decompress(frame, frame_bytes(frame))
    if not stream.eof:
        raise ZstdError("a frame is cut short")
    return data


def frame_bytes(frame: bytes) -> int:
    """The length of its data, as the frame says."""
    size = get_frame_info(frame).decompressed_size
    if size is None:
        raise ZstdError("a frame does not say its size")
    return size
