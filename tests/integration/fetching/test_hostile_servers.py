"""Whatever a server does, a fetch ends in time, in bounds, and with the right word for it."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
import uvloop
from msgspec import structs

from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest

from .scripted import PATIENT, Wire, answering, asking, fetch_once, fetching, page, serving

NO_STALLS = structs.replace(PATIENT, stall_seconds=0.3)
SHORT = structs.replace(PATIENT, total_seconds=0.4)


def failed(outcome: Fetched | FetchFailure, kind: FailureKind) -> FetchFailure:
    assert isinstance(outcome, FetchFailure), outcome
    assert outcome.kind is kind, outcome
    return outcome


def succeeded(outcome: Fetched | FetchFailure) -> Fetched:
    assert isinstance(outcome, Fetched), outcome
    return outcome


def test_no_answer() -> None:
    limits = structs.replace(PATIENT, first_byte_seconds=0.3)
    failed(fetch_once(answering(close=False), limits=limits), FailureKind.FIRST_BYTE_TIMEOUT)


def test_slow_head() -> None:
    drops = [bytes([byte]) for byte in page(b"late")]
    failed(fetch_once(answering(*drops, pause=0.05), limits=SHORT), FailureKind.TOO_SLOW)


def test_head_that_stalls() -> None:
    script = answering(b"HTTP/1.1 200 OK\r\nContent-", close=False)
    failed(fetch_once(script, limits=NO_STALLS), FailureKind.STALLED)


def test_slow_body() -> None:
    drops = [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", *[b"x"] * 1000]
    failed(fetch_once(answering(*drops, pause=0.05), limits=SHORT), FailureKind.TOO_SLOW)


def test_body_that_stalls() -> None:
    script = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", close=False)
    failed(fetch_once(script, limits=NO_STALLS), FailureKind.STALLED)


@pytest.mark.parametrize(("close", "word"), [(True, "disconnect"), (False, "time")])
def test_a_broken_body_is_kept_when_asked_for(close: bool, word: str) -> None:
    limits = PATIENT if close else structs.replace(PATIENT, total_seconds=1.0)
    script = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", close=close)
    fetched = succeeded(fetch_once(script, limits=limits, partial=True))
    assert (fetched.payload, fetched.truncated) == (b"half", word)


def test_a_request_may_be_given_less_time() -> None:
    drops = [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 4000]

    async def session() -> Fetched | FetchFailure:
        async with serving(answering(*drops, pause=0.05)) as server, fetching() as fetcher:
            return await fetcher.fetch(
                FetchRequest(server.url(), "site", 500, 500, most_seconds=0.3)
            )

    outcome = failed(uvloop.run(session()), FailureKind.TOO_SLOW)
    assert outcome.seconds < PATIENT.total_seconds / 2


@pytest.mark.parametrize("length", [b"Content-Length: 99999999999\r\n", b""])
def test_endless_body_is_cut(length: bytes) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n")
        await wire.pour(b"x" * 65536)

    fetched = succeeded(fetch_once(script, max_bytes=300_000))
    assert len(fetched.payload) == 300_000
    assert fetched.truncated == "length"


def test_endless_chunks_are_cut() -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await wire.pour(b"5\r\nxxxxx\r\n" * 5000)

    fetched = succeeded(fetch_once(script, max_bytes=300_000))
    assert fetched.payload == b"x" * len(fetched.payload)
    assert 140_000 < len(fetched.payload) < 300_000, "with the framing that it came in"
    assert fetched.truncated == "length"


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    fetched = succeeded(fetch_once(answering(page(b"x" * 1000)), max_bytes=1000))
    assert (len(fetched.payload), fetched.truncated) == (1000, "")


@pytest.mark.parametrize(
    "endless",
    [
        b"X-Padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        b"\r\n X",
    ],
)
def test_endless_head(endless: bytes) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\nX-Start: 1")
        await wire.pour(endless * 100)

    failed(fetch_once(script), FailureKind.BAD_HTTP)


def test_too_many_lines() -> None:
    lines = [b"X-%d: y" % number for number in range(300)]
    failed(fetch_once(answering(page(b"", *lines))), FailureKind.BAD_HTTP)


def test_endless_provisional_responses() -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.pour(b"HTTP/1.1 102 Processing\r\n\r\n" * 50)

    failed(fetch_once(script), FailureKind.BAD_HTTP)


@pytest.mark.parametrize("framing", [b"1;x=" + b"y" * 1000, b"0\r\nX-Trailer: " + b"y" * 1000])
def test_endless_chunk_framing(framing: bytes) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framing)
        await wire.pour(b"y" * 10_000)

    failed(fetch_once(script), FailureKind.BAD_HTTP)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_long_extensions_count_as_what_they_take() -> None:
    """60 KB before each byte: 120 MB on the line for a body of 2 KB."""

    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(CHUNKED)
        await wire.pour(b"1;" + b"y" * 60_000 + b"\r\nx\r\n")

    failure = failed(fetch_once(script), FailureKind.BAD_HTTP)
    assert failure.wire_bytes < 2_000_000, "what was sent before we hung up"


def test_small_chunks_are_read_within_the_bound() -> None:
    tiny = succeeded(fetch_once(answering(CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")))
    assert (len(tiny.payload), tiny.truncated) == (50_000, "")
    cut = succeeded(fetch_once(answering(CHUNKED + b"1\r\nx\r\n" * 50_000), max_bytes=100_000))
    assert cut.truncated == "length"
    assert len(cut.payload) < 50_000, "framing counts"


def test_small_chunks_take_no_object_each() -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(CHUNKED)
        await wire.pour(b"2\r\nxx\r\n" * 10_000)

    tracemalloc.start()
    fetched = succeeded(fetch_once(script, max_bytes=2_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(fetched.payload) > 500_000
    assert peak < 12_000_000


@pytest.mark.parametrize(
    "chunks",
    [b"zz\r\nabc\r\n", b"5\r\nabcdefgh\r\n0\r\n\r\n", b"-5\r\nabc", b"fffffffffffffffff\r\nabc"],
)
def test_broken_chunks(chunks: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    failed(fetch_once(answering(head + chunks)), FailureKind.BAD_HTTP)


def test_chunks_that_break_off() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    failed(fetch_once(answering(head + b"5\r\nabc")), FailureKind.CLOSED)


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5, 6\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nno chunks",
    ],
)
def test_lengths_that_cannot_be(lines: bytes) -> None:
    script = answering(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\nabcde")
    failed(fetch_once(script, limits=PATIENT), FailureKind.BAD_HTTP)


def test_length_too_long() -> None:
    script = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc")
    failed(fetch_once(script), FailureKind.CLOSED)


def test_length_too_short_leaves_the_connection_unfit() -> None:
    async def session() -> None:
        async def script(wire: Wire) -> None:
            while await wire.said():
                await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef")

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(2):
                fetched = succeeded(await fetcher.fetch(asking(server.url())))
                assert fetched.payload == b"abc"
            assert server.connections == 2

    uvloop.run(session())


@pytest.mark.parametrize("extra", [page(b"poison"), b"\r\n\r\n", b"garbage"])
def test_extra_bytes_never_become_the_next_response(extra: bytes) -> None:
    async def session() -> None:
        async def script(wire: Wire) -> None:
            while await wire.said():
                await wire.say(page(b"good") + extra)

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(3):
                assert succeeded(await fetcher.fetch(asking(server.url()))).payload == b"good"

    uvloop.run(session())


def test_extra_bytes_that_come_late_end_the_connection() -> None:
    async def session() -> None:
        read = asyncio.Event()

        async def script(wire: Wire) -> None:
            while await wire.said():
                await wire.say(page(b"good"))
                await read.wait()
                await wire.say(page(b"poison"))

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(2):
                read.clear()
                assert succeeded(await fetcher.fetch(asking(server.url()))).payload == b"good"
                read.set()
                while fetcher._pool._hosts:
                    await asyncio.sleep(0.01)
            assert server.connections == 2

    uvloop.run(session())


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTT",
        b"HTTP/1.1 200 OK\r\nContent-",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    ],
)
def test_early_close(start: bytes) -> None:
    failed(fetch_once(answering(start)), FailureKind.CLOSED)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_reset(start: bytes, pause: float) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(start, pause=pause)
        wire.reset()

    failed(fetch_once(script), FailureKind.CLOSED)


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\x01\x02\x03" * 100,
        b"<html>no head at all</html>",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nNul: a\x00b\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ],
)
def test_garbage(garbage: bytes) -> None:
    failed(fetch_once(answering(garbage, close=False)), FailureKind.BAD_HTTP)


def test_memory_stays_bounded() -> None:
    """Sixty megabytes offered, one wanted."""

    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\n\r\n")
        piece = b"x" * 1_000_000
        for _ in range(60):
            await wire.say(piece)

    tracemalloc.start()
    try:
        fetched = succeeded(fetch_once(script))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(fetched.payload) == 1_000_000
    assert peak < 8_000_000
