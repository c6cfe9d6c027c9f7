"""The pace of what a node sends to its manager, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from bench.grid_churn import BEGIN

from headgate.features.grid.node.bandwidth import CoordinatorBandwidth
from headgate.features.grid.node.crawl import WorkerLeg
from headgate.model.budget import Budget
from headgate.model.units import BytesPerSecond
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually


@dataclass
class Leg:
    """With a rate of the owner that changes."""

    rate: float
    quota_left: bool = True
    pages_share: float = 1.0

    def own_rate(self) -> float | None:
        return self.rate if self.quota_left else 0.0

    @property
    def budget(self) -> Budget:
        return Budget(BytesPerSecond(self.rate), 1)

    def set_pages_share(self, share: float) -> None:
        self.pages_share = share


def sent_after(leg: Leg, sizes: list[int], rate_after: tuple[float, float] | None = None) -> float:
    """Virtual seconds until all were let go."""
    took = []

    async def play(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, BEGIN)
        line, began = CoordinatorBandwidth(cast(WorkerLeg, leg), clock), clock.now()

        def rise(rate: float) -> None:
            leg.rate = rate

        if rate_after is not None:
            loop.call_later(rate_after[0], rise, rate_after[1])
        for size in sizes:
            await line.send(size)
        took.append(clock.now() - began)

    run_virtually(play)
    return took[0]


def test_chunks_follow_each_other_at_the_rate() -> None:
    assert abs(sent_after(Leg(1000.0), [5000, 5000, 0]) - 10.0) < 0.1


def test_results_are_delivered_when_the_quota_is_used_up() -> None:
    assert sent_after(Leg(1000.0, quota_left=False), [5000, 0]) < 6.0


def test_a_higher_rate_holds_at_once() -> None:
    assert sent_after(Leg(1000.0), [2_000_000, 0], (10.0, 1e6)) < 15.0


def test_without_a_bandwidth_nothing_waits() -> None:
    assert sent_after(Leg(float("inf")), [10**9, 10**9, 0]) == 0.0
