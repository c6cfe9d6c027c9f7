"""Heads that are odd and can be read: each case as curl 7.88 or wget 1.21 answers it, or the RFC.

All over real sockets, in one piece and byte by byte, from servers that keep the connection open
where the length is told: who misreads a length waits for a time-out. Where curl gives up and we do
not, the case says who else reads it.
"""

from __future__ import annotations

import pytest
import uvloop
from tests.integration.fetching.scripted import (
    Wire,
    answering,
    asking,
    fetch_once,
    fetching,
    page,
    serving,
)

from headgate.model.fetch import FailureKind, Fetched, FetchFailure

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 5\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"\r\n5\r\nhello\r\n0\r\n\r\n"
HELLO = LENGTH + b"\r\nhello"

READ: dict[str, bytes] = {
    "CRLF and LF mixed": OK + b"Server: x\nContent-Length: 5\r\nX: y\n\r\nhello",
    "LF first": b"HTTP/1.1 200 OK\nServer: x\r\nContent-Length: 5\n\nhello",
    "LF alone": b"HTTP/1.1 200 OK\nServer: x\nContent-Length: 5\n\nhello",
    "obs-fold": OK + b"X: one\r\n two\r\n\tthree\r\n" + HELLO,
    "obs-fold of the length (wget, RFC 9112 5.2)": OK + b"Content-Length:\r\n 5\r\n\r\nhello",
    "blank before the first field (wget, 2.2)": OK + b" folded: x\r\n" + HELLO,
    "chunks and a length": OK + b"Content-Length: 3\r\n" + CHUNKED + CHUNKS,
    "a length and chunks": OK + CHUNKED + b"Content-Length: 3\r\n" + CHUNKS,
    "chunks in HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + CHUNKED + CHUNKS,
    "chunked in capitals": OK + b"TRANSFER-ENCODING: CHUNKED\r\n" + CHUNKS,
    "chunked twice": OK + CHUNKED + CHUNKED + CHUNKS,
    "chunked, identity": OK + b"Transfer-Encoding: chunked, identity\r\n" + CHUNKS,
    "identity and a length (wget)": OK + b"Transfer-Encoding: identity\r\n" + HELLO,
    "length twice": OK + LENGTH + HELLO,
    "length as a list": OK + b"Content-Length: 5, 5\r\n\r\nhello",
    "length with zeros": OK + b"Content-Length: 005\r\n\r\nhello",
    "length without a blank": OK + b"Content-Length:5\r\n\r\nhello",
    "length between tabs": OK + b"Content-Length:\t5\t \r\n\r\nhello",
    "blank before the colon": OK + b"Content-Length : 5\r\n\r\nhello",
    "control characters": OK + b"X: a\x01\x7f\x08\x1b[31mb\r\n" + HELLO,
    "control characters in a name": OK + b"X\x01: a\r\n" + HELLO,
    "CR within a value": OK + b"X: a\rb\r\n" + HELLO,
    "CR CR LF": OK + b"X: a\r\r\n" + HELLO,
    "a line without a colon (wget, browsers)": OK + b"no colon\r\n" + HELLO,
    "an empty name": OK + b": value\r\n" + HELLO,
    "a name of two words": OK + b"My Header: value\r\n" + HELLO,
    "a name in UTF-8": OK + "Größe: 1\r\n".encode() + HELLO,
    "separators in a name": OK + b'X(a)@"[]: value\r\n' + HELLO,
    "no reason": b"HTTP/1.1 200\r\n" + HELLO,
    "a blank and no reason": b"HTTP/1.1 200 \r\n" + HELLO,
    "a reason in Latin-1": b"HTTP/1.1 200 \xc4rger\x01\r\n" + HELLO,
    "a reason that touches": b"HTTP/1.1 200OK\r\n" + HELLO,
    "two blanks": b"HTTP/1.1  200  OK\r\n" + HELLO,
    "a tab (wget)": b"HTTP/1.1\t200 OK\r\n" + HELLO,
    "lower case": b"http/1.1 200 OK\r\n" + HELLO,
    "HTTP/1 (wget)": b"HTTP/1 200 OK\r\n" + HELLO,
    "HTTP/1.2 (wget)": b"HTTP/1.2 200 OK\r\n" + HELLO,
    "HTTP/2 in text": b"HTTP/2 200 OK\r\n" + HELLO,
    "HTTP/2.0 in text": b"HTTP/2.0 200 OK\r\n" + HELLO,
    "an empty line first (Chromium)": b"\r\n" + OK + HELLO,
    "LF first of all (Chromium)": b"\n" + OK + HELLO,
    "100 first": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + HELLO,
    "100 with a length": b"HTTP/1.1 100 x\r\nContent-Length: 3\r\n\r\n" + OK + HELLO,
    "103 twice": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2 + OK + HELLO,
}
READ_TO_THE_END: dict[str, bytes] = {
    "HTTP/1.0 without a length": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "HTTP/1.1 without a length": OK + b"\r\nhello",
    "an unknown coding (wget)": OK + b"Transfer-Encoding: foo\r\n\r\nhello",
    "an empty length (browsers)": OK + b"Content-Length: \r\n\r\nhello",
    "a length and letters": OK + b"Content-Length: 5x\r\n\r\nhello",
    "a length with a sign": OK + b"Content-Length: +5\r\n\r\nhello",
    "a negative length (wget)": OK + b"Content-Length: -5\r\n\r\nhello",
    "a word for a length (browsers)": OK + b"Content-Length: abc\r\n\r\nhello",
    "a length beyond all numbers": OK + b"Content-Length: 99999999999999999999\r\n\r\nhello",
}
REFUSED: dict[str, bytes] = {
    "lengths that contradict (RFC 9112 6.3)": OK + b"Content-Length: 6\r\n" + HELLO,
    "a list that contradicts": OK + b"Content-Length: 5, 6\r\n\r\nhello",
    "NUL in a value": OK + b"X: a\x00b\r\n" + HELLO,
    "HTTP/9.9": b"HTTP/9.9 200 OK\r\n" + HELLO,
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n" + HELLO,
    "a status of two digits": b"HTTP/1.1 20 OK\r\n" + HELLO,
    "a status below 100": b"HTTP/1.1 099 OK\r\n" + HELLO,
    "ICY": b"ICY 200 OK\r\n" + HELLO,
    "HTTP/0.9": b"<html>hello</html>",
    "101 unasked": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n" + OK + HELLO,
}


def pieces(answer: bytes, *, torn: bool) -> list[bytes]:
    return [answer[at : at + 1] for at in range(len(answer))] if torn else [answer]


def fetched(outcome: Fetched | FetchFailure) -> Fetched:
    assert isinstance(outcome, Fetched), outcome
    return outcome


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("case", READ)
def test_read_as_meant(case: str, torn: bool) -> None:
    came = fetched(fetch_once(answering(*pieces(READ[case], torn=torn), close=False)))
    assert (came.status, came.payload, came.truncated) == (200, b"hello", "")
    assert came.response_head in READ[case]


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("case", READ_TO_THE_END)
def test_without_a_length_to_go_by_the_body_ends_with_the_connection(case: str, torn: bool) -> None:
    came = fetched(fetch_once(answering(*pieces(READ_TO_THE_END[case], torn=torn))))
    assert (came.status, came.payload, came.truncated) == (200, b"hello", "")


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, torn: bool) -> None:
    outcome = fetch_once(answering(*pieces(REFUSED[case], torn=torn), close=False))
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is FailureKind.BAD_HTTP


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (b"X: one\r\n two\r\n\tthree\r\n", "one two three"),
        (b"X:\r\n one\n \n two\r\n", "one two"),
        (b"X: one\r\n", "one"),
        (b"X : one \t\r\n", "one"),
        (b"X: a\rb\r\n", "a b"),
        (b"X: a\r\r\n", "a"),
        (b"X:\r\n", ""),
        (b"X: a: b\r\n", "a: b"),
        (b"X: a\x0bb\x0c\x1c\x85c\r\n", "a\x0bb\x0c\x1c\x85c"),
        (b"x: first\r\nX: second\r\n", "first"),
    ],
)
def test_values(lines: bytes, value: str) -> None:
    came = fetched(fetch_once(answering(OK + lines + HELLO, close=False)))
    assert came.header("x") == value
    assert came.payload == b"hello"


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (OK + b"Server: x\n" + LENGTH + b"\n", True),
        (OK + b"X: one\r\n two\r\n" + LENGTH + b"\r\n", True),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + LENGTH + b"\r\n", True),
        (OK + b"Connection: x, Close\r\n" + LENGTH + b"\r\n", False),
        (OK + b"Connection: keep-alive\r\nConnection: close\r\n" + LENGTH + b"\r\n", False),
        (OK + b"Connection: close\r\nConnection: keep-alive\r\n" + LENGTH + b"\r\n", False),
        (b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\n", False),
        (OK + LENGTH + LENGTH + b"\r\n", False),
        (OK + b"Content-Length: 5, 5\r\n\r\n", False),
    ],
)
def test_a_connection_is_kept_only_where_there_is_no_doubt(head: bytes, kept: bool) -> None:
    async def session() -> int:
        async def script(wire: Wire) -> None:
            while await wire.said():
                await wire.say(head + b"hello")

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(3):
                assert fetched(await fetcher.fetch(asking(server.url()))).payload == b"hello"
            return server.connections

    assert uvloop.run(session()) == (1 if kept else 3)


@pytest.mark.parametrize("first", [True, False])
def test_what_follows_chunks_with_a_length_is_no_response(first: bool) -> None:
    """RFC 9112, 6.3: chunks win, and the connection goes, whatever was put behind them."""
    length = b"Content-Length: 3\r\n"
    head = OK + (CHUNKED + length if first else length + CHUNKED)

    async def session() -> int:
        async def script(wire: Wire) -> None:
            while await wire.said():
                await wire.say(head + CHUNKS, pause=0.02)
                await wire.say(page(b"smuggled"))

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(3):
                assert fetched(await fetcher.fetch(asking(server.url()))).payload == b"hello"
            return server.connections

    assert uvloop.run(session()) == 3
