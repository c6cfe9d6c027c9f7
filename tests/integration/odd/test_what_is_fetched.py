"""Pages that nobody wants: another type, or too large. They end with their heads."""

from __future__ import annotations

import asyncio

import pytest
import uvloop
from tests.integration.fetching.scripted import Wire, fetching, page, serving

from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest

_MOST = 300_000
_NOISE = b"x" * 16_384


def asked(head: bytes, *, types: tuple[str, ...] = (), whole_only: bool = False) -> object:
    """What comes of a response that goes on until the client hangs up, and whether it did."""
    hung_up = asyncio.Event()

    async def endless(wire: Wire) -> None:
        await wire.said()
        try:
            await wire.say(head)
            await wire.pour(_NOISE)
        except ConnectionError:
            hung_up.set()
            raise

    async def session() -> Fetched | FetchFailure:
        async with serving(endless) as server, fetching() as fetcher:
            request = FetchRequest(
                server.url(), "site", 5_000, _MOST, types=types, whole_only=whole_only
            )
            outcome = await fetcher.fetch(request)
            await asyncio.wait_for(hung_up.wait(), 10)
            return outcome

    return uvloop.run(session())


_SNAPSHOT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-gzip\r\nContent-Length: 90000000\r\n\r\n"
)
_UNTOLD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def test_another_type_ends_with_its_head() -> None:
    outcome = asked(_SNAPSHOT, types=("text/*", "application/pdf"))
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is FailureKind.UNWANTED_TYPE
    assert outcome.detail == "application/x-gzip"
    assert 0 < outcome.wire_bytes < 10_000_000  # what was on its way counts


def test_a_length_beyond_the_bound_ends_with_its_head() -> None:
    outcome = asked(_SNAPSHOT, whole_only=True)
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is FailureKind.TOO_LARGE
    assert outcome.detail == "90 MB"
    assert 0 < outcome.wire_bytes < 10_000_000


def test_a_page_that_does_not_say_its_length_ends_at_the_bound() -> None:
    outcome = asked(_UNTOLD, types=("text/html",), whole_only=True)
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is FailureKind.TOO_LARGE
    assert outcome.wire_bytes > _MOST


def test_without_a_wish_it_is_cut_and_kept() -> None:
    outcome = asked(_UNTOLD)
    assert isinstance(outcome, Fetched)
    assert (outcome.truncated, len(outcome.payload)) == ("length", _MOST)


@pytest.mark.parametrize(
    "answer",
    [
        page(b"whole", b"Content-Type: TEXT/HTML;charset=x"),
        page(b"no type is told"),
        b"HTTP/1.1 301 Moved\r\nContent-Type: image/png\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 404 No\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 304 Not Modified\r\nContent-Type: image/png\r\nContent-Length: 9999999\r\n\r\n",
    ],
)
def test_what_is_taken_in_all_the_same(answer: bytes) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(answer)

    async def session() -> Fetched | FetchFailure:
        async with serving(script) as server, fetching() as fetcher:
            url = server.url()
            request = FetchRequest(url, "site", 500, _MOST, types=("text/html",), whole_only=True)
            return await fetcher.fetch(request)

    assert isinstance(uvloop.run(session()), Fetched)
