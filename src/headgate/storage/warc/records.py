"""WARC 1.1 records as bytes, before compression. ISO 28500:2017; nothing here touches a disk.

A response keeps the head exactly as received, with one exception that Common Crawl makes as well:
the payload is kept without transfer coding and may be cut short, so a ``Transfer-Encoding`` or a
``Content-Length`` that no longer tells the truth is renamed to ``X-Crawl-…`` and the true length is
added. Without that, readers would try to undo chunks that are not there.

Dates carry whole seconds: replay tools look revisits up by fourteen digits.
"""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha1
from http import HTTPStatus
from pathlib import Path

from headgate.model.errors import UserMistake
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Earlier, payload_digest
from headgate.reading.http_head import read_head
from headgate.storage.safe_files import opened

__all__ = [
    "digest_text",
    "exchange",
    "failure",
    "location_in",
    "note",
    "read_response",
    "record_head",
    "record_id",
    "revisit_profile",
    "says",
    "stored_head",
    "utc_text",
    "warcinfo",
]

_BODILESS = frozenset({100, 101, 103, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_PROFILES = "http://netpreserve.org/warc/1.1/revisit"
_FRAMING_HEADERS = re.compile(rb"^(transfer-encoding|content-length)(?=[ \t]*:)", re.I | re.M)
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_LINE_BREAKS = re.compile(r"[\r\n]+")


_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [first + second for first in _BASE32 for second in _BASE32]
_SHIFTS = range(150, -10, -10)
_CHANCES = 256
_chances: list[str] = []
os.register_at_fork(after_in_child=_chances.clear)


def digest_text(digest: bytes) -> str:
    """A SHA-1 as WARC writes it; ten bits a step, as base64.b32encode takes twice as long.

    >>> digest_text(payload_digest(b""))
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    number = int.from_bytes(digest)
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def record_id() -> str:
    """A unique record id. Random bytes are drawn for many at once, since each call releases the
    interpreter lock and waits to get it back."""
    while True:
        try:
            digits = _chances.pop()
            break
        except IndexError:  # also where another thread took the last
            fresh = os.urandom(16 * _CHANCES).hex()
            _chances.extend([fresh[start : start + 32] for start in range(0, len(fresh), 32)])
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


@lru_cache(maxsize=64)
def _utc_text(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def utc_text(wall_time: float) -> str:
    """
    >>> utc_text(1794770403.9)
    '2026-11-15T19:20:03Z'
    """
    return _utc_text(int(wall_time))


def warcinfo(
    identity: str, filename: str, wall_time: float, fields: Iterable[tuple[str, str]]
) -> bytes:
    """The first record of each file: who wrote it, by which rules."""
    head = (
        f"WARC-Type: warcinfo\r\nWARC-Record-ID: {identity}\r\n"
        f"WARC-Date: {utc_text(wall_time)}\r\nWARC-Filename: {filename}\r\n"
    )
    return _with_block(head, "application/warc-fields", _fields(fields))


def revisit_profile(fetched: Fetched, digest: bytes, earlier: Earlier | None) -> str:
    """The profile of a revisit of ``earlier``; empty: it is none, and must be stored in full."""
    if earlier is None:
        return ""
    if fetched.status == HTTPStatus.NOT_MODIFIED:
        return "server-not-modified"
    same = bool(earlier.digest) and earlier.digest == digest and not fetched.truncated
    return "identical-payload-digest" if same else ""


def exchange(
    fetched: Fetched, digest: bytes, earlier: Earlier | None, warcinfo_id: str
) -> tuple[bytes, bytes]:
    """A response or revisit record, and its request record."""
    identity, request_identity = record_id(), record_id()
    common = (
        f"WARC-Warcinfo-ID: {warcinfo_id}\r\nWARC-Target-URI: {_uri(fetched.url)}\r\n"
        f"WARC-Date: {utc_text(fetched.wall_time)}\r\n"
    )
    if fetched.address:
        common += f"WARC-IP-Address: {fetched.address}\r\n"
    profile = revisit_profile(fetched, digest, earlier)
    if profile and earlier is not None:
        kind, payload = _revisit_fields(profile, digest, earlier), b""
    else:
        kind, payload = (
            f"response\r\nWARC-Payload-Digest: {digest_text(digest)}\r\n",
            fetched.payload,
        )
        if fetched.truncated:
            kind += f"WARC-Truncated: {fetched.truncated}\r\n"
    response = _with_http(
        f"WARC-Type: {kind}WARC-Record-ID: {identity}\r\n{common}",
        "response",
        (stored_head(fetched), payload),
    )
    request = _with_http(
        f"WARC-Type: request\r\nWARC-Record-ID: {request_identity}\r\n{common}"
        f"WARC-Concurrent-To: {identity}\r\n",
        "request",
        (fetched.request_head, b""),
    )
    return response, request


def failure(failed: FetchFailure, warcinfo_id: str) -> bytes:
    """A metadata record: why there was no response."""
    fields = (
        ("fetch-failure", failed.kind.value),
        ("detail", failed.detail),
        ("seconds", f"{failed.seconds:.3f}"),
    )
    return note(failed.url, failed.wall_time, fields, warcinfo_id)


def note(url: str, wall_time: float, fields: Iterable[tuple[str, str]], warcinfo_id: str) -> bytes:
    """A metadata record about a URL: a failure, or what robots.txt says."""
    head = (
        f"WARC-Type: metadata\r\nWARC-Record-ID: {record_id()}\r\n"
        f"WARC-Warcinfo-ID: {warcinfo_id}\r\nWARC-Target-URI: {_uri(url)}\r\n"
        f"WARC-Date: {utc_text(wall_time)}\r\n"
    )
    return _with_block(head, "application/warc-fields", _fields(fields))


def stored_head(fetched: Fetched) -> bytes:
    """The response's head as archived: see the module's docstring."""
    head = fetched.response_head
    length = fetched.header("content-length")
    coded = fetched.header("transfer-encoding") is not None
    if fetched.status in _BODILESS or not (
        coded or (length is not None and length != str(len(fetched.payload)))
    ):
        return head
    head = _FRAMING_HEADERS.sub(rb"X-Crawl-\1", head)
    end = 2 if head.endswith(b"\r\n\r\n") else 1
    return b"%bContent-Length: %d\r\n%b" % (head[:-end], len(fetched.payload), head[-end:])


def _revisit_fields(profile: str, digest: bytes, earlier: Earlier) -> str:
    known = earlier.digest if profile == "server-not-modified" else digest
    digest_line = f"WARC-Payload-Digest: {digest_text(known)}\r\n" if known else ""
    return (
        f"revisit\r\nWARC-Profile: {_PROFILES}/{profile}\r\n{digest_line}"
        f"WARC-Refers-To-Target-URI: {_uri(earlier.url)}\r\n"
        f"WARC-Refers-To-Date: {utc_text(earlier.wall_time)}\r\n"
    )


def _with_http(head: str, message: str, parts: tuple[bytes, bytes]) -> bytes:
    block = sha1(parts[0], usedforsecurity=False)
    block.update(parts[1])
    lines = (
        f"WARC/1.1\r\n{head}WARC-Block-Digest: {digest_text(block.digest())}\r\n"
        f"Content-Type: application/http; msgtype={message}\r\n"
        f"Content-Length: {len(parts[0]) + len(parts[1])}\r\n\r\n"
    )
    return b"".join((lines.encode("utf-8", "replace"), *parts, b"\r\n\r\n"))


def _with_block(head: str, content_type: str, block: bytes) -> bytes:
    lines = (
        f"WARC/1.1\r\n{head}WARC-Block-Digest: {digest_text(payload_digest(block))}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return b"".join((lines.encode("utf-8", "replace"), block, b"\r\n\r\n"))


def _fields(fields: Iterable[tuple[str, str]]) -> bytes:
    lines = (f"{name}: {_LINE_BREAKS.sub(' ', value)}\r\n" for name, value in fields)
    return "".join(lines).encode("utf-8", "replace")


def _uri(url: str) -> str:
    """A URL must not end its line."""
    return _CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", url)


_GZIP_WINDOW_BITS = 31
_READ_BYTES = 1 << 18
_MOST_HEAD_BYTES = 1 << 17
_MOST_BYTES = 20_000_000
"""Size limit of a record, larger than any that was written."""
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_HTTP_HEAD = re.compile(rb"\n\r?\n")
"""Some servers leave out the CR."""
_RESPONSE = b"\r\nWARC-Type: response\r\n"


def read_response(file: Path, offset: int, url: str, digest: bytes) -> Fetched | None:
    """A response, read back from its WARC record as if the server had sent it just now.

    The response in the record at ``offset``, for ``url``; None: it is not available.

    The payload must have the digest, so that damage or a replaced file is noticed.
    """
    try:
        record = _read_member(file, offset)
    except (OSError, zlib.error, UserMistake):
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


def record_head(file: Path, offset: int) -> tuple[bytes, bytes]:
    """The head of the record at ``offset``, and what can be seen of its block; empty if there is
    none. Of a record of any size, no more is read than a head may have."""
    try:
        with opened(file) as warc:
            warc.seek(offset)
            seen = zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(
                warc.read(_MOST_HEAD_BYTES), _MOST_HEAD_BYTES
            )
    except (OSError, zlib.error, UserMistake):
        return b"", b""
    head, found, block = seen.partition(_END_OF_HEAD)
    return (head, block) if found and head.startswith(b"WARC/1.1\r\n") else (b"", b"")


def says(head: bytes, url: str, digest: bytes) -> bool:
    """Whether a record's head is about a URL, and about a payload with this digest; empty: there
    was no response. A revisit has its payload elsewhere."""
    if f"\r\nWARC-Target-URI: {_uri(url)}\r\n".encode("utf-8", "replace") not in head:
        return False
    match head.partition(b"\r\nWARC-Type: ")[2].partition(b"\r\n")[0]:
        case b"response":
            told = f"\r\nWARC-Payload-Digest: {digest_text(digest)}\r\n"
            return bool(digest) and told.encode() in head
        case b"metadata":
            return not digest
        case kind:
            return kind == b"revisit"


def location_in(block: bytes) -> str:
    """Where the response in a record's block redirects to, as its server wrote it; empty: it does
    not say."""
    end = _END_OF_HTTP_HEAD.search(block)
    read = read_head(block[: end.end()]) if end else None
    return next((value for name, value in read.fields if name == "location"), "") if read else ""


def _read_member(file: Path, offset: int) -> bytes:
    """One gzip member; empty if it is cut off or too large."""
    pieces, total = [], 0
    member = zlib.decompressobj(_GZIP_WINDOW_BITS)
    with opened(file) as warc:
        warc.seek(offset)
        while not member.eof and total <= _MOST_BYTES:
            data = warc.read(_READ_BYTES)
            if not data:
                return b""
            pieces.append(member.decompress(data, _MOST_BYTES + 1 - total))
            total += len(pieces[-1])
    return b"".join(pieces) if member.eof else b""
