"""Proper servers, in all the ways HTTP/1.1 allows: what comes back is exactly what was sent."""

from __future__ import annotations

import asyncio
import socket

import msgspec
import pytest
import uvloop
from msgspec import structs

from headgate.engine.clock import AwakeClock
from headgate.fetching.client import HttpFetcher
from headgate.fetching.meter import Meter
from headgate.model.fetch import Announced, FailureKind, Fetched, FetchFailure, FetchRequest

from .scripted import (
    PATIENT,
    Wire,
    answering,
    asking,
    fetch_once,
    fetching,
    page,
    serving,
)

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"


async def echo(wire: Wire) -> None:
    """Answers every request with its own head."""
    while said := await wire.said():
        await wire.say(page(said))


async def fetched_from(fetcher: HttpFetcher, request: FetchRequest) -> Fetched:
    outcome = await fetcher.fetch(request)
    assert isinstance(outcome, Fetched), outcome
    return outcome


def test_everything_about_a_response_is_told() -> None:
    head = (
        b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nX-Cafe: \xe9t\xe9\r\nX-A: 1\r\nX-a: 2\r\n\r\n"
    )
    outcome = fetch_once(answering(head + b"hello"))
    assert isinstance(outcome, Fetched)
    assert outcome.status == 200
    assert outcome.response_head == head
    assert outcome.headers == (
        ("content-length", "5"),
        ("x-cafe", "été"),
        ("x-a", "1"),
        ("x-a", "2"),
    )
    assert outcome.payload == b"hello"
    assert outcome.address == "127.0.0.1"
    assert outcome.truncated == ""
    assert 0 < outcome.first_byte_seconds <= outcome.seconds
    assert outcome.wire_bytes >= len(head) + 5 + 66
    assert outcome.wall_time > 1e9


def test_the_request_is_honest_and_exact() -> None:
    async def session() -> None:
        async with serving(echo) as server, fetching() as fetcher:
            request = msgspec.structs.replace(
                asking(server.url("/a/b?c=d#e")), headers=(("If-None-Match", '"x"'),)
            )
            fetched = await fetched_from(fetcher, request)
            assert fetched.request_head == fetched.payload
            lines = fetched.payload.decode().split("\r\n")
            assert lines[0] == "GET /a/b?c=d HTTP/1.1"
            assert lines[1] == f"Host: 127.0.0.1:{server.port}"
            assert lines[2].startswith("User-Agent: Headgate/")
            assert lines[2].endswith(" (+https://example.org/crawler)")
            assert "Accept-Encoding: gzip, deflate, br, zstd" in lines
            assert 'If-None-Match: "x"' in lines

    uvloop.run(session())


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (
            _CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            b"abcde",
        ),
        (
            _CHUNKED + b"1\r\na\r\n0\r\nX-T: 1\r\n\r\n",
            b"a",
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", b"abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + _LENGTH + b"abc", b"abc"),
        (
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + _LENGTH + b"abc",
            b"abc",
        ),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", b""),
    ],
)
@pytest.mark.parametrize("torn", [False, True])
def test_framings(answer: bytes, body: bytes, torn: bool) -> None:
    pieces = [answer[at : at + 1] for at in range(len(answer))] if torn else [answer]
    outcome = fetch_once(answering(*pieces))
    assert isinstance(outcome, Fetched), outcome
    assert outcome.payload == body
    assert outcome.truncated == ""
    assert answer.endswith(outcome.response_head + body) or b"chunked" in answer


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
    ],
)
def test_responses_without_a_body_keep_their_connection(head: bytes) -> None:
    async def session() -> None:
        async def script(wire: Wire) -> None:
            while await wire.said():
                await wire.say(head)

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(3):
                fetched = await fetched_from(fetcher, asking(server.url()))
                assert fetched.payload == b""
            assert server.connections == 1

    uvloop.run(session())


def test_connections_are_kept_and_limited() -> None:
    most = 0
    now = 0

    async def slow(wire: Wire) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        while await wire.said():
            await asyncio.sleep(0.005)
            await wire.say(page(b"x" * 100))
        now -= 1

    async def session() -> None:
        async with serving(slow) as server, fetching() as fetcher:
            fetches = (fetched_from(fetcher, asking(server.url(f"/{n}"))) for n in range(40))
            pages = await asyncio.gather(*fetches)
            assert {fetched.url for fetched in pages} == {server.url(f"/{n}") for n in range(40)}
            assert server.connections == 4
            fetcher._pool.check()

    uvloop.run(session())
    assert most == 4


def test_a_connection_closed_while_idle_is_replaced_unseen() -> None:
    async def one_each(wire: Wire) -> None:
        await wire.said()
        await wire.say(page(b"once"))

    async def session() -> None:
        async with serving(one_each) as server, fetching() as fetcher:
            for _ in range(5):
                assert (await fetched_from(fetcher, asking(server.url()))).payload == b"once"
            await asyncio.sleep(0.02)
            assert (await fetched_from(fetcher, asking(server.url()))).payload == b"once"

    uvloop.run(session())


def test_a_connection_closed_on_the_second_request_is_replaced_unseen() -> None:
    async def ends_on_second(wire: Wire) -> None:
        await wire.said()
        await wire.say(page(b"first"))
        await wire.said()
        wire.reset()

    async def session() -> None:
        async with serving(ends_on_second) as server, fetching() as fetcher:
            for _ in range(3):
                assert (await fetched_from(fetcher, asking(server.url()))).payload == b"first"
            assert server.connections == 3

    uvloop.run(session())


def test_a_post_has_a_connection_of_its_own_and_is_never_sent_twice() -> None:
    """A kept one may be closed by now: a GET is sent again, a POST may have been taken."""
    posts: list[int] = []

    async def session() -> None:
        async def ends_on_a_post(wire: Wire) -> None:
            while said := await wire.said():
                if said.startswith(b"POST"):
                    posts.append(server.connections)
                    wire.reset()
                    return
                await wire.say(page(b"first"))

        async with serving(ends_on_a_post) as server, fetching() as fetcher:
            request = asking(server.url())
            assert (await fetched_from(fetcher, request)).payload == b"first"
            post = msgspec.structs.replace(request, method="POST", body=b"once")
            outcome = await fetcher.fetch(post)
            assert isinstance(outcome, FetchFailure)
            assert outcome.kind is FailureKind.CLOSED

    uvloop.run(session())
    assert posts == [2]


def test_a_fresh_connection_that_ends_is_not_tried_again() -> None:
    async def session() -> None:
        async with serving(answering()) as server, fetching() as fetcher:
            outcome = await fetcher.fetch(asking(server.url()))
            assert isinstance(outcome, FetchFailure)
            assert outcome.kind is FailureKind.CLOSED
            assert server.connections == 1

    uvloop.run(session())


def test_connection_close_is_heeded() -> None:
    async def session() -> None:
        async def script(wire: Wire) -> None:
            await wire.said()
            await wire.say(page(b"bye", b"Connection: close"))
            await wire.said()

        async with serving(script) as server, fetching() as fetcher:
            for _ in range(2):
                assert (await fetched_from(fetcher, asking(server.url()))).payload == b"bye"
            assert server.connections == 2

    uvloop.run(session())


def test_idle_connections_are_closed_in_time() -> None:
    async def session() -> None:
        limits = structs.replace(PATIENT, idle_seconds=0.1)
        async with serving(echo) as server, fetching(limits) as fetcher:
            await fetched_from(fetcher, asking(server.url()))
            while fetcher._pool._hosts:
                await asyncio.sleep(0.01)
            await fetched_from(fetcher, asking(server.url()))
            assert server.connections == 2

    uvloop.run(session())


def test_cookies_stay_within_their_site() -> None:
    async def setting(wire: Wire) -> None:
        while said := await wire.said():
            await wire.say(page(said, b"Set-Cookie: a=1; Path=/", b"Set-Cookie: b=2"))

    async def session() -> None:
        async with serving(setting) as server, fetching() as fetcher:
            first = await fetched_from(fetcher, asking(server.url()))
            assert b"Cookie" not in first.payload
            second = await fetched_from(fetcher, asking(server.url()))
            assert b"Cookie: a=1; b=2\r\n" in second.payload
            other = msgspec.structs.replace(asking(server.url()), site="other")
            assert b"Cookie" not in (await fetched_from(fetcher, other)).payload

    uvloop.run(session())


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ftp://example.org/", FailureKind.BAD_URL),
        ("file:///etc/passwd", FailureKind.BAD_URL),
        ("/relative", FailureKind.BAD_URL),
        ("http://", FailureKind.BAD_URL),
        ("http://host:99999/", FailureKind.BAD_URL),
        ("http://named.test/a b", FailureKind.BAD_URL),
        ("http://named.test/a\r\nX: y", FailureKind.BAD_URL),
        ("http://other.test/", FailureKind.FORBIDDEN_ADDRESS),
        ("http://10.0.0.1/", FailureKind.FORBIDDEN_ADDRESS),
        ("http://[::1]/", FailureKind.FORBIDDEN_ADDRESS),
        ("http://[::ffff:127.0.0.1]/", FailureKind.FORBIDDEN_ADDRESS),
        ("http://169.254.169.254/latest/meta-data/", FailureKind.FORBIDDEN_ADDRESS),
        ("http://named.test:1/", FailureKind.REFUSED),
    ],
)
def test_urls_that_lead_nowhere(url: str, kind: FailureKind) -> None:
    async def session() -> FetchFailure | Fetched:
        async with fetching() as fetcher:
            return await fetcher.fetch(asking(url))

    outcome = uvloop.run(session())
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is kind, outcome


def test_a_named_host_may_be_private() -> None:
    async def session() -> None:
        async with serving(echo) as server, fetching() as fetcher:
            fetched = await fetched_from(fetcher, asking(server.url(host="named.test")))
            assert f"Host: named.test:{server.port}".encode() in fetched.payload
            assert fetched.address == "127.0.0.1"

    uvloop.run(session())


def test_a_server_that_never_accepts_times_out() -> None:
    """A full backlog drops the handshake's last packet; further connects hang."""

    async def session() -> None:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            port = deaf.getsockname()[1]
            fillers = [socket.socket() for _ in range(8)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            limits = structs.replace(PATIENT, connect_seconds=0.2)
            async with fetching(limits) as fetcher:
                outcome = await fetcher.fetch(asking(f"http://127.0.0.1:{port}/"))
            for filler in fillers:
                filler.close()
            assert isinstance(outcome, FetchFailure)
            assert outcome.kind is FailureKind.CONNECT_TIMEOUT

    uvloop.run(session())


def test_a_cancelled_fetch_gives_its_place_back() -> None:
    async def session() -> None:
        async def silent(wire: Wire) -> None:
            await wire.said()
            await wire.said()

        limits = structs.replace(PATIENT, connections_per_host=1)
        async with serving(silent) as server, fetching(limits) as fetcher:
            tasks = [asyncio.ensure_future(fetcher.fetch(asking(server.url()))) for _ in range(3)]
            await asyncio.sleep(0.05)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert not fetcher._pool._hosts

    uvloop.run(session())


def test_a_server_slow_to_answer_is_asked_more_at_once_within_politeness() -> None:
    async def thinking(wire: Wire) -> None:
        while await wire.said():
            await asyncio.sleep(0.2)
            await wire.say(page(b"x" * 4_000))

    async def session() -> tuple[int, int, int]:
        meter = Meter(50_000.0, clock=AwakeClock.now)
        async with serving(thinking) as server, fetching(meter=meter) as fetcher:
            near = fetcher.connections("site", server.url(), 5_000)
            for number in range(3):
                await fetched_from(fetcher, asking(server.url(f"/{number}")))
            fitting = fetcher.connections("site", server.url(), 5_000)
            meter.set_total(5e6)
            return near, fitting, fetcher.connections("site", server.url(), 5_000)

    near, fitting, polite = uvloop.run(session())
    assert near == 2
    assert fitting >= 3  # 50 KB/s × 0.2 s / 5 KB, and a quarter
    assert polite == PATIENT.connections_per_host


def test_a_response_under_way_tells_how_much_is_still_to_come() -> None:
    """Of a page of 100 KB 40 KB are here; frame headers come on top of the rest."""

    async def half(wire: Wire) -> None:
        await wire.said()
        await wire.say(page(bytes(100_000))[:-60_000])
        await wire.said()

    async def session() -> None:
        async with serving(half) as server, fetching() as fetcher:
            assert fetcher.announced("site") == Announced()
            task = asyncio.create_task(fetcher.fetch(asking(server.url())))
            while fetcher.under_way("site") < 40_000:
                await asyncio.sleep(0.01)
            told = fetcher.announced("site")
            assert told.responses == 1
            assert 60_000 <= told.wire_bytes <= 63_000
            assert fetcher.announced("another") == Announced()
            task.cancel()

    uvloop.run(session())


def test_a_response_without_a_length_announces_nothing() -> None:
    async def chunked(wire: Wire) -> None:
        await wire.said()
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        await wire.say(head + b"1000\r\n" + bytes(2000))
        await wire.said()

    async def session() -> None:
        async with serving(chunked) as server, fetching() as fetcher:
            task = asyncio.create_task(fetcher.fetch(asking(server.url())))
            while fetcher.under_way("site") < 2_000:
                await asyncio.sleep(0.01)
            assert fetcher.announced("site") == Announced()
            task.cancel()

    uvloop.run(session())
