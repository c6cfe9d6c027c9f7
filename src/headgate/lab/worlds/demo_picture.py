"""A landscape as an uncompressed PNG, as large as a photograph."""

from __future__ import annotations

import struct
import zlib

from headgate.lab.worlds.demo_prose import Prose

__all__ = ["landscape"]

_WIDTH, _HEIGHT = 256, 192


def landscape(prose: Prose) -> bytes:
    """Hills before a sky; about 148 KB."""
    horizon = _ridge(prose)
    hill = bytes(40 + prose.number(90) for _ in range(3))
    rows = [_row(y, horizon, hill) for y in range(_HEIGHT)]
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(b"".join(rows), level=0)),
            _chunk(b"IEND", b""),
        )
    )


def _ridge(prose: Prose) -> list[int]:
    """The height of the hills at each column: straight slopes between a few peaks."""
    peaks = [_HEIGHT // 3 + prose.number(_HEIGHT // 3) for _ in range(9)]
    step = _WIDTH // 8
    return [
        peaks[x // step] + (peaks[x // step + 1] - peaks[x // step]) * (x % step) // step
        for x in range(_WIDTH)
    ]


def _row(y: int, horizon: list[int], hill: bytes) -> bytes:
    """One line of pixels behind the byte that says it is not filtered."""
    sky = bytes((120 + y // 2, 170 + y // 4, 235))
    return b"\0" + b"".join(hill if y > height else sky for height in horizon)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
