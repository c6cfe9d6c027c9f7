"""What a response may read, on a connection that is only counted."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from headgate.bandwidth.receive_window import FRAME_HEADERS, SEGMENT, Opening
from headgate.fetching.meter import Meter, ResponseMeter
from headgate.fetching.tcp import TcpConnection


class _Counts:
    """A server that sends a byte per segment, each read as it comes."""

    def __init__(self) -> None:
        self.window = 3 * SEGMENT
        self.rtt = 0.0
        self.read = self.settled = self.segments = 0

    def arrivals(self) -> tuple[int, int]:
        return self.segments, self.segments * (1 + FRAME_HEADERS)

    def widen(self, opening: Opening) -> None:
        self.window = max(self.window, opening.window)


def test_crumbs_wait_for_credit_though_the_window_was_paid_for() -> None:
    async def session() -> None:
        line = _Counts()
        meter = Meter(150_000.0, clock=lambda: 0.0)
        response_meter = ResponseMeter(
            meter, "site", cast(TcpConnection, line), expected=1_000.0, most=2
        )
        await response_meter.pay_for_request()
        response_meter.foresee(1_000)
        while line.read < 1_000:
            line.segments += 1
            amount = response_meter.allowance(lambda _: None)
            if amount == 0:
                break
            line.read += amount
        assert response_meter.crumbs
        assert line.segments < 40, "each costs 67 bytes, and 1,000 were paid for"
        meter.close()

    asyncio.run(session())


async def windows_around_a_head(length: int) -> tuple[float, float]:
    """Before and after it told the length, of a site with 600 KB/s whose pages have 15 KB."""
    line = _Counts()
    line.rtt, line.segments = 0.02, SEGMENT
    meter = Meter(600_000.0, clock=lambda: 0.0)
    response_meter = ResponseMeter(
        meter, "site", cast(TcpConnection, line), expected=15_000.0, most=6
    )
    await response_meter.pay_for_request()
    line.read = SEGMENT
    response_meter.allowance(lambda _: None)
    before = line.window
    response_meter.foresee(length)
    line.segments += SEGMENT
    response_meter.allowance(lambda _: None)
    meter.close()
    return before, line.window


def test_a_long_response_opens_its_window_when_its_head_has_told_the_length() -> None:
    """It may be the last of its site: a page of 1.7 MB had 240 KB/s of 600."""
    before, after = asyncio.run(windows_around_a_head(1_700_000))
    assert after >= 2 * before
    assert after / (0.02 + 0.005) > 600_000.0, "enough for the whole line"


def test_one_that_is_soon_over_does_not() -> None:
    """Pages of unequal size: many windows widened at a time were 8 % over the limit."""
    before, after = asyncio.run(windows_around_a_head(400_000))
    assert after == before


def test_many_long_responses_share_what_is_in_flight() -> None:
    """Thirty-five windows, each as wide as for one of seven, were a wave of 0.4 s at the start of a
    site of large files."""

    async def session() -> tuple[float, float]:
        line = _Counts()
        line.rtt, line.segments = 0.1, SEGMENT
        meter = Meter(1_000_000.0, clock=lambda: 0.0)
        meter.under_way["site"] = 35
        response_meter = ResponseMeter(
            meter, "site", cast(TcpConnection, line), expected=11_000.0, most=100
        )
        await response_meter.pay_for_request()
        line.read = SEGMENT
        response_meter.foresee(5_000_000)
        response_meter.allowance(lambda _: None)
        among_many = line.window
        meter.under_way["site"] = 1
        line.segments += SEGMENT
        response_meter.allowance(lambda _: None)
        meter.close()
        return among_many, line.window

    among_many, alone = asyncio.run(session())
    assert 35 * among_many < 300_000.0, "0.3 s of the line"
    assert alone > 3 * among_many


class _Eager(_Counts):
    """A server without an end, whose next segment is there when the last was read; it may have
    sent another one then, as the window lets it."""

    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.window = 2 * SEGMENT
        self._ahead = ahead

    def arrivals(self) -> tuple[int, int]:
        self.segments = self.read // SEGMENT + self._ahead
        return self.segments * SEGMENT, self.segments * (SEGMENT + FRAME_HEADERS)


@pytest.mark.parametrize("ahead", [1, 2])
def test_longer_than_expected_waits_for_credit_though_nobody_knows_the_end(ahead: int) -> None:
    async def session() -> None:
        line = _Eager(ahead)
        meter = Meter(50_000.0, clock=lambda: 0.0)
        response_meter = ResponseMeter(
            meter, "site", cast(TcpConnection, line), expected=3_000.0, most=2
        )
        await response_meter.pay_for_request()
        for _ in range(20):
            amount = response_meter.allowance(lambda _: None)
            if amount == 0:
                break
            line.read += amount
        assert line.read <= 2 * SEGMENT, "the clock stands still: no more was paid for"
        meter.close()

    asyncio.run(session())
