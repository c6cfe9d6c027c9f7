"""Waiting for credit: in time, in turn, and leaving the line without a trace.

What is said to take at most so long is measured without what others took of the machine."""

from __future__ import annotations

import asyncio
import math
import socket
import time

import pytest
import uvloop
from msgspec import structs
from tests.machine import Machine

from headgate.bandwidth.receive_window import SEGMENT, Opening
from headgate.engine.clock import AwakeClock
from headgate.fetching.client import HttpFetcher
from headgate.fetching.limits import Limits
from headgate.fetching.meter import Meter
from headgate.fetching.tcp import TcpConnection, open_socket
from headgate.model.fetch import Fetched, FetchRequest

from .scripted import PATIENT, Wire, asking, fetching, page, serving


async def _pages(wire: Wire) -> None:
    while said := await wire.said():
        size = int(said.split(b" ")[1].strip(b"/"))
        await wire.say(page(bytes(size)))


Span = tuple[float, float]
"""Two moments."""


async def _all(fetcher: HttpFetcher, urls: list[str], expected: int) -> Span:
    """When the fetching of them all began and ended."""
    before = time.monotonic()
    fetches = (fetcher.fetch(asking(url, expected=expected)) for url in urls)
    for outcome in await asyncio.gather(*fetches):
        assert isinstance(outcome, Fetched), outcome
    return before, time.monotonic()


def seconds(span: Span) -> float:
    return span[1] - span[0]


def test_pages_come_at_the_rate(machine: Machine) -> None:
    async def session() -> Span:
        meter = Meter(200_000.0, clock=AwakeClock.now)
        async with serving(_pages) as server, fetching(meter=meter) as fetcher:
            return await _all(fetcher, [server.url("/10000")] * 20, 10_500)

    took = uvloop.run(session())
    assert seconds(took) > 0.85
    assert machine.own_seconds(*took) < 1.6


def test_a_response_larger_than_expected_is_paid_all_the_same(machine: Machine) -> None:
    async def session() -> Span:
        meter = Meter(200_000.0, clock=AwakeClock.now)
        async with serving(_pages) as server, fetching(meter=meter) as fetcher:
            return await _all(fetcher, [server.url("/50000")] * 4, 100)

    took = uvloop.run(session())
    assert seconds(took) > 0.8
    assert machine.own_seconds(*took) < 1.6


def test_a_handshake_is_counted_as_the_interface_counts_it() -> None:
    narrow = Opening(2 * SEGMENT)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        open_socket("127.0.0.1", narrow) as sock,
    ):
        sock.setblocking(True)
        sock.connect(server.getsockname())
        ethernet, ip, tcp, options = 14, 20, 20, 20
        assert TcpConnection(sock, narrow).arrivals() == (0, ethernet + ip + tcp + options)


@pytest.mark.parametrize("rate", [50_000.0, 150_000.0], ids=["head waits", "fits the window"])
def test_segments_of_one_byte_are_kept_out_and_come_whole_later(
    monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    body = bytes(range(256)) * 5
    shut, shuts = TcpConnection.shut, []

    def counted(line: TcpConnection) -> None:
        shuts.append(line)
        shut(line)

    monkeypatch.setattr(TcpConnection, "shut", counted)

    async def drops(wire: Wire) -> None:
        while await wire.said():
            for byte in page(body):  # as fast as can be, or a busy machine is slower than the limit
                await wire.say(bytes([byte]))

    async def session() -> None:
        meter = Meter(rate, clock=AwakeClock.now)
        async with serving(drops) as server, fetching(Limits(), meter) as fetcher:
            outcome = await fetcher.fetch(asking(server.url("/")))
            assert isinstance(outcome, Fetched), outcome
            assert outcome.payload == body

    uvloop.run(session())
    assert shuts


def test_a_response_smaller_than_expected_is_refunded(machine: Machine) -> None:
    """Paid as expected it would be ten seconds."""

    async def session() -> Span:
        meter = Meter(200_000.0, clock=AwakeClock.now)
        async with serving(_pages) as server, fetching(meter=meter) as fetcher:
            return await _all(fetcher, [server.url("/100")] * 100, 20_000)

    assert machine.own_seconds(*uvloop.run(session())) < 1.5


def test_nothing_is_waited_for_without_a_limit(machine: Machine) -> None:
    async def session() -> Span:
        async with serving(_pages) as server, fetching() as fetcher:
            took = await _all(fetcher, [server.url("/50000")] * 100, 50_000)
            assert fetcher.meter._timer is None
            return took

    assert machine.own_seconds(*uvloop.run(session())) < 1.0


def test_a_limit_may_come_and_go_in_the_middle_of_a_response(machine: Machine) -> None:
    """All that is left when it comes would take a quarter of an hour."""

    async def session() -> Span:
        meter = Meter(clock=AwakeClock.now)
        async with serving(_pages) as server, fetching(meter=meter) as fetcher:
            loop = asyncio.get_running_loop()
            loop.call_later(0.02, meter.set_total, 50_000.0)
            loop.call_later(0.50, meter.set_total, math.inf)
            slow = [server.url("/900000")] * 4
            return await _all(fetcher, slow * 15, 1_000_000)

    took = uvloop.run(session())
    assert seconds(took) > 0.5
    assert machine.own_seconds(*took) < 3.0


def test_time_in_line_is_no_time_out() -> None:
    """Four seconds spent waiting for credit, with time-outs of one."""
    limits = structs.replace(PATIENT, first_byte_seconds=1.0, stall_seconds=1.0, total_seconds=1.0)

    async def session() -> None:
        meter = Meter(30_000.0, clock=AwakeClock.now)
        async with serving(_pages) as server, fetching(limits, meter) as fetcher:
            await _all(fetcher, [server.url("/30000")] * 4, 30_000)

    uvloop.run(session())


def test_a_cancelled_wait_costs_nothing() -> None:
    async def session() -> None:
        meter = Meter(10_000.0, clock=AwakeClock.now)
        await meter.pay("site", 8_000.0)
        waits = [asyncio.ensure_future(meter.pay("site", 50_000.0)) for _ in range(5)]
        await asyncio.sleep(0.01)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        before = time.monotonic()
        await meter.pay("site", 100.0)
        assert 0.2 < time.monotonic() - before < 20.0, "each wait was for five seconds"
        assert not meter._waiters
        meter.close()

    uvloop.run(session())


def test_a_raised_rate_wakes_those_who_wait() -> None:
    async def session() -> None:
        meter = Meter(1_000.0, clock=AwakeClock.now)
        await meter.pay("site", 100_000.0)
        wait = asyncio.ensure_future(meter.pay("site", 1.0))
        await asyncio.sleep(0.05)
        assert not wait.done()
        meter.set_total(1e9)
        await asyncio.wait_for(wait, 50.0)  # at the rate before it takes a hundred
        meter.close()

    uvloop.run(session())


def test_sites_have_their_own_rates() -> None:
    async def session() -> None:
        meter = Meter(clock=AwakeClock.now)
        meter.set_site("slow", 10_000.0)
        before = time.monotonic()
        await meter.pay("fast", 1e9)
        assert time.monotonic() - before < 60.0, "at the rate of the other it takes a day"
        await meter.pay("slow", 10_000.0)
        await meter.pay("slow", 1.0)
        assert time.monotonic() - before > 0.3
        meter.close()

    uvloop.run(session())


async def _drops(wire: Wire) -> None:
    while await wire.said():
        for byte in page(CRUMBLED):
            await wire.say(bytes([byte]))


CRUMBLED = bytes(range(256)) * 2


def test_an_honest_site_keeps_its_rate_beside_segments_of_one_byte(machine: Machine) -> None:
    """Ten such responses wait for each other, come whole, and nobody else waits for them."""

    async def session() -> Span:
        meter = Meter(200_000.0, clock=AwakeClock.now)
        meter.set_site("site", 100_000.0)
        meter.set_site("bad", 100_000.0)
        async with (
            serving(_pages) as honest,
            serving(_drops) as crumbling,
            fetching(Limits(), meter) as fetcher,
        ):
            bad = FetchRequest(crumbling.url(host="named.test"), "bad", 5_000, 1_000_000)
            strange = [asyncio.ensure_future(fetcher.fetch(bad)) for _ in range(10)]
            took = await _all(fetcher, [honest.url("/10000")] * 15, 10_500)
            for outcome in await asyncio.gather(*strange):
                assert isinstance(outcome, Fetched), outcome
                assert outcome.payload == CRUMBLED
            return took

    took = uvloop.run(session())
    assert machine.own_seconds(*took) < 3.0, "it is a second and a half at its rate"
