"""What a crawl relies on in any fetcher: one over sockets, and a simulated web."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import pytest
import uvloop

from headgate.crawling.ports import Fetcher
from headgate.engine.clock import AwakeClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.testing.simulated_web import Answer, Line, SimulatedWeb
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

Found = TypeVar("Found")
Web = Mapping[str, Answer]
"""By path."""
SETTINGS = FetcherSettings("tests", named=frozenset({"127.0.0.1"}))
HTML = (("content-type", "text/html"),)
SITE = "site"


@dataclass
class Asking:
    """A fetcher, and where its web is."""

    fetcher: Fetcher
    origin: str
    asked: list[str] = field(default_factory=list)

    async def get(self, path: str, **more: object) -> Fetched | FetchFailure:
        values = {"expected_bytes": 1000, "max_bytes": 1_000_000, **more}
        request = FetchRequest(self.origin + path, SITE, **values)  # type: ignore[arg-type]
        return await self.fetcher.fetch(request)


Play = Callable[[Asking], Awaitable[Found]]
Playing = Callable[[Web, Play[Found]], Found]


def over_sockets(web: Web, play: Play[Found]) -> Found:
    answering: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        answering[task] = writer
        await answer(reader, writer)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            said = web[head.split()[1].decode()]
            await asyncio.sleep(said.first_byte_seconds)
            headers = (*said.headers, ("content-length", str(len(said.body))))
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
            whole = f"HTTP/1.1 {said.status} Said\r\n{lines}\r\n".encode() + said.body
            if said.fault is not None:
                whole = whole[: int(len(whole) * said.share_before_fault)]
            for start in range(0, len(whole), 2000):
                writer.write(whole[start : start + 2000])
                await asyncio.sleep(2000 / said.bytes_per_second)
            if said.fault is not None:
                break
        writer.close()

    async def run() -> Found:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            async with HttpFetcher(SETTINGS, clock=AwakeClock()) as fetcher, asyncio.timeout(60):
                return await play(Asking(fetcher, f"http://127.0.0.1:{port}"))
        finally:
            server.close()
            for task, writer in answering.items():
                task.cancel()
                writer.transport.abort()
            await asyncio.gather(*answering, return_exceptions=True)
            await asyncio.sleep(0.01)

    return uvloop.run(run())


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def simulated(web: Web, play: Play[Found]) -> Found:
    origin = "http://site.test"

    async def run(loop: VirtualLoop) -> Found:
        def answering(request: FetchRequest, _: float) -> Answer:
            return web[request.url.removeprefix(origin)]

        clock = VirtualClock(loop, 1e9)
        async with SimulatedWeb(SETTINGS, answering, clock, Line()) as fetcher:
            return await play(Asking(fetcher, origin))

    return run_virtually(cast(Callable[[VirtualLoop], Coroutine[None, None, Found]], run))


EVERY_FETCHER = pytest.mark.parametrize("playing", [over_sockets, simulated])


@EVERY_FETCHER
def test_a_response_is_given_out_as_it_came_and_every_byte_of_it_is_counted(
    playing: Playing[None],
) -> None:
    web = {"/": Answer(headers=HTML, body=b"x" * 5000), "/b": Answer(body=b"y" * 100)}

    async def play(asking: Asking) -> None:
        first, second = await asking.get("/"), await asking.get("/b")
        assert isinstance(first, Fetched)
        assert isinstance(second, Fetched)
        assert (first.status, first.payload, first.truncated) == (200, b"x" * 5000, "")
        assert first.header("content-type") == "text/html"
        assert first.request_head.startswith(b"GET / HTTP/1.1\r\n")
        assert first.response_head.endswith(b"\r\n\r\n")
        assert 0 <= first.first_byte_seconds <= first.seconds
        assert first.wire_bytes > len(first.payload) + len(first.response_head)
        came = first.wire_bytes + second.wire_bytes
        assert asking.fetcher.carried() == came
        (tally,) = asking.fetcher.servers.values()
        assert (tally.requests, tally.bytes) == (2, came)
        assert asking.fetcher.under_way(SITE) == 0

    playing(web, play)


@EVERY_FETCHER
@pytest.mark.parametrize("status", [301, 304, 404, 503])
def test_whatever_status_a_server_says_is_an_answer(playing: Playing[None], status: int) -> None:
    web = {"/": Answer(status, (("location", "/elsewhere"),))}

    async def play(asking: Asking) -> None:
        outcome = await asking.get("/")
        assert isinstance(outcome, Fetched)
        assert outcome.status == status
        assert outcome.header("location") == "/elsewhere"

    playing(web, play)


@EVERY_FETCHER
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_a_connection_that_ends_early_is_a_failure_whose_bytes_count(
    playing: Playing[None], share: float
) -> None:
    fault = FailureKind.CLOSED
    web = {"/": Answer(body=b"x" * 20_000, fault=fault, share_before_fault=share)}

    async def play(asking: Asking) -> None:
        outcome = await asking.get("/")
        assert isinstance(outcome, FetchFailure)
        assert outcome.kind is fault
        assert outcome.wire_bytes == asking.fetcher.carried()
        assert (outcome.wire_bytes > 10_000) == bool(share)
        assert asking.fetcher.take_cut_off(SITE) == 0, "it was told of"

    playing(web, play)


@EVERY_FETCHER
def test_what_is_too_long_is_cut_or_not_wanted_at_all(playing: Playing[None]) -> None:
    web = {"/": Answer(headers=HTML, body=b"x" * 50_000)}

    async def play(asking: Asking) -> None:
        cut = await asking.get("/", max_bytes=10_000)
        assert isinstance(cut, Fetched)
        assert (len(cut.payload), cut.truncated) == (10_000, "length")
        unwanted = await asking.get("/", max_bytes=10_000, whole_only=True)
        assert isinstance(unwanted, FetchFailure)
        assert unwanted.kind is FailureKind.TOO_LARGE
        whole = await asking.get("/", max_bytes=50_000, whole_only=True)
        assert isinstance(whole, Fetched)
        assert len(whole.payload) == 50_000

    playing(web, play)


@EVERY_FETCHER
def test_types_that_nobody_wants_are_left_where_they_are(playing: Playing[None]) -> None:
    web = {"/": Answer(headers=(("content-type", "image/png"),), body=b"x" * 50_000)}

    async def play(asking: Asking) -> None:
        outcome = await asking.get("/", types=("text/html", "text/*"))
        assert isinstance(outcome, FetchFailure)
        assert outcome.kind is FailureKind.UNWANTED_TYPE
        assert isinstance(await asking.get("/", types=("image/*",)), Fetched)

    playing(web, play)


@EVERY_FETCHER
def test_nobody_waits_longer_than_the_request_says(playing: Playing[None]) -> None:
    web = {"/": Answer(body=b"x" * 50_000, first_byte_seconds=0.1, bytes_per_second=10_000)}

    async def play(asking: Asking) -> None:
        began = asyncio.get_running_loop().time()
        outcome = await asking.get("/", most_seconds=1.0)
        assert isinstance(outcome, FetchFailure)
        assert outcome.kind is FailureKind.TOO_SLOW
        assert outcome.wire_bytes == asking.fetcher.carried() > 0
        assert asyncio.get_running_loop().time() - began < 4.0, "of five"

    playing(web, play)


@EVERY_FETCHER
def test_bytes_under_way_are_known_and_of_a_cancelled_fetch_told_once(
    playing: Playing[None],
) -> None:
    web = {"/": Answer(body=b"x" * 200_000, bytes_per_second=40_000)}

    async def play(asking: Asking) -> None:
        fetcher, loop = asking.fetcher, asyncio.get_running_loop()
        task = asyncio.ensure_future(asking.get("/"))
        until = loop.time() + 30
        while fetcher.under_way(SITE) < 20_000 and loop.time() < until:
            await asyncio.sleep(0.05)
        assert fetcher.under_way("another") == 0
        announced = fetcher.announced(SITE)
        assert announced.responses == 1
        assert 0 < announced.wire_bytes < 200_000
        assert fetcher.carried() == fetcher.under_way(SITE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert fetcher.under_way(SITE) == 0
        assert fetcher.take_cut_off("another") == 0
        assert fetcher.take_cut_off(SITE) == fetcher.carried() >= 20_000
        assert fetcher.take_cut_off(SITE) == 0

    playing(web, play)


@EVERY_FETCHER
def test_a_rate_holds_a_response_back_and_a_new_one_holds_at_once(playing: Playing[None]) -> None:
    """By the least that it takes, so that no busy machine matters: nothing comes faster."""
    web = {"/": Answer(body=b"x" * 60_000)}

    async def play(asking: Asking) -> None:
        rates, loop = asking.fetcher.meter, asyncio.get_running_loop()
        rates.set_total(40_000)
        rates.set_site(SITE, 40_000)
        began = loop.time()
        assert isinstance(await asking.get("/", expected_bytes=60_000), Fetched)
        assert loop.time() - began > 1.0
        assert asking.fetcher.connections(SITE, asking.origin, 60_000) >= 1
        began = loop.time()
        waiting = asyncio.ensure_future(asking.get("/", expected_bytes=60_000))
        rates.set_site(SITE, 0.0)
        await asyncio.sleep(1.0)
        assert not waiting.done(), "parked"
        rates.set_total(float("inf"))
        rates.set_site(SITE, float("inf"))
        outcome = await waiting
        assert isinstance(outcome, Fetched)
        assert len(outcome.payload) == 60_000
        rates.forget_site(SITE)

    playing(web, play)
