"""What a response may read, on a connection that is only counted."""

from __future__ import annotations

import asyncio
from typing import cast

from headgate.fetching.metering import Meter
from headgate.fetching.tap import Tap
from headgate.fetching.tcp import Line
from headgate.traffic.window import FRAME_HEADERS, SEGMENT, Opening


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
        tap = Tap(meter, "site", cast(Line, line), expected=1_000.0, most=2)
        await tap.pay_for_request()
        tap.foresee(1_000, sealed=False)
        while line.read < 1_000:
            line.segments += 1
            amount = tap.allowance(lambda _: None)
            if amount == 0:
                break
            line.read += amount
        assert tap.crumbs
        assert line.segments < 40, "each costs 67 bytes, and 1,000 were paid for"
        meter.close()

    asyncio.run(session())
