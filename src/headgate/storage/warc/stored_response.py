"""A response, read back from its WARC record as if the server had sent it just now."""

from __future__ import annotations

import re
import zlib
from http import HTTPStatus
from pathlib import Path

from headgate.model.fetch import Fetched
from headgate.model.page import payload_digest
from headgate.reading.http_head import read_head

__all__ = ["read_response"]

_GZIP_WINDOW_BITS = 31
_READ_BYTES = 1 << 18
_MOST_BYTES = 20_000_000
"""Size limit of a record, larger than any that was written."""
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_HTTP_HEAD = re.compile(rb"\n\r?\n")
"""Some servers leave out the CR."""
_RESPONSE = b"\r\nWARC-Type: response\r\n"


def read_response(file: Path, offset: int, url: str, digest: bytes) -> Fetched | None:
    """The response in the record at ``offset``, for ``url``; None: it is not available.

    The payload must have the digest, so that damage or a replaced file is noticed."""
    try:
        record = _read_member(file, offset)
    except (OSError, zlib.error):
        return None
    head, found, block = record.partition(_END_OF_HEAD)
    if not found or _RESPONSE not in head:
        return None
    end = _END_OF_HTTP_HEAD.search(block)
    payload = block[end.end() : -len(_END_OF_HEAD)] if end else b""
    if end is None or payload_digest(payload) != digest:
        return None
    http_head = block[: end.end()]
    read = read_head(http_head)
    return Fetched(
        url=url,
        status=HTTPStatus.OK,
        headers=read.fields if read else (),
        request_head=b"",
        response_head=http_head,
        payload=payload,
        address="",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=0,
    )


def _read_member(file: Path, offset: int) -> bytes:
    """One gzip member; empty if it is cut off or too large."""
    pieces, total = [], 0
    member = zlib.decompressobj(_GZIP_WINDOW_BITS)
    with file.open("rb", buffering=0) as opened:
        opened.seek(offset)
        while not member.eof and total <= _MOST_BYTES:
            data = opened.read(_READ_BYTES)
            if not data:
                return b""
            pieces.append(member.decompress(data, _MOST_BYTES + 1 - total))
            total += len(pieces[-1])
    return b"".join(pieces) if member.eof else b""
