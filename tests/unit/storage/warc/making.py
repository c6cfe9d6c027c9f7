"""Fetches and pages to store, made by rule: the same number gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from msgspec.structs import replace

from headgate.model.fetch import FailureKind, Fetched, FetchFailure
from headgate.model.page import Links, Page

NOON = 1_794_744_000.0
"""2026-11-15 12:00:00 UTC."""


def make_url(number: int, host: str = "site.example") -> str:
    return f"http://{host}/page/{number}.html"


def make_body(number: int, size: int = 2000) -> bytes:
    words = (blake2b(b"%d %d" % (number, k), digest_size=4).hexdigest() for k in range(size // 9))
    return b"<!doctype html><title>page %d</title><p>%b" % (number, " ".join(words).encode())


def make_fetched(
    number: int,
    body: bytes | None = None,
    extra: Iterable[tuple[str, str]] = (),
    content_type: str = "text/html; charset=utf-8",
) -> Fetched:
    payload = make_body(number) if body is None else body
    url = make_url(number)
    headers = (
        ("Content-Type", content_type),
        ("Content-Length", str(len(payload))),
        *extra,
    )
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return Fetched(
        url=url,
        status=200,
        headers=tuple((name.lower(), value) for name, value in headers),
        request_head=f"GET /page/{number}.html HTTP/1.1\r\nHost: site.example\r\n\r\n".encode(),
        response_head=f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode("latin-1"),
        payload=payload,
        address="192.0.2.7",
        wall_time=NOON + number,
        first_byte_seconds=0.01,
        seconds=0.02,
        wire_bytes=len(payload) + 400,
    )


def make_chunked(number: int) -> Fetched:
    """As a server sends it that does not know the length beforehand."""
    plain = make_fetched(number)
    return replace(
        plain,
        headers=(("content-type", "text/html"), ("transfer-encoding", "chunked")),
        response_head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        b"transfer-Encoding: chunked\r\n\r\n",
    )


def make_not_modified(number: int) -> Fetched:
    return replace(
        make_fetched(number),
        status=304,
        headers=(("etag", '"v1"'),),
        response_head=b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n',
        payload=b"",
        wall_time=NOON + 86_400 + number,
    )


def make_failure(number: int) -> FetchFailure:
    return FetchFailure(
        make_url(number),
        FailureKind.DNS,
        detail="name does not\r\nresolve",
        wall_time=NOON + number,
        seconds=0.5,
        wire_bytes=120,
    )


def make_page(number: int, links: int = 3) -> Page:
    targets = [make_url(number * links + k) for k in range(links)]
    rels = ["nofollow" if k == 0 else "" for k in range(links)]
    return Page(make_fetched(number), depth=1, title=f"page {number}", links=Links(targets, rels))
