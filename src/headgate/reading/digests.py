"""Digests: a quick test whether two pages are equal.

Taken of the decoded bytes, since one page may come in several codings, and only ever compared
among our own: 128 bits of XXH3, at 25 times SHA-1's speed (2 µs against 50 for 70 KB). The
archive's digest is another thing: SHA-1 of the payload as sent, because readers of WARC expect
that one; `storage` takes it.
"""

from __future__ import annotations

from xxhash import xxh3_128_digest

__all__ = ["content_digest"]


def content_digest(content: bytes) -> bytes:
    """Sixteen bytes; collisions occur only on purpose.

    >>> content_digest(b"").hex()
    '99aa06d3014798d86001c324468d497f'
    """
    return xxh3_128_digest(content)
