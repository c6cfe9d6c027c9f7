"""Making way on a simulated line: who gets how much, and what strange news do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.bandwidth.make_way import FIRST_RATE, DelayController
from headgate.bandwidth.queueing_delay import LineDelay
from headgate_lab.worlds.shared_line import SharedLine, Times

LINE = 1_250_000.0


def never(_: float) -> bool:
    return False


def always(_: float) -> bool:
    return True


def between(begin: float, end: float) -> Times:
    return lambda now: begin <= now < end


def world(
    yielding: DelayController | None,
    rate: Callable[[float], float] = lambda _: LINE,
    *,
    bulk: Times = never,
    small: Times = never,
    queue_bytes: float = 225_000.0,
    wanted: float = math.inf,
) -> SharedLine:
    chance = np.random.default_rng(7)
    return SharedLine(
        rate, yielding, chance, queue_bytes=queue_bytes, bulk=bulk, small=small, wanted=wanted
    )


def test_an_idle_line_is_used() -> None:
    line = world(DelayController(math.inf))
    line.run(8.0)
    assert line.run(40.0).use > 0.82


def test_a_download_keeps_what_it_has_alone() -> None:
    alone = world(None, bulk=always).run(25.0).bulk_bytes
    yielding = DelayController(math.inf)
    line = world(yielding, bulk=lambda now: now >= 10.0)
    line.run(10.0)
    assert line.run(35.0).bulk_bytes > 0.93 * alone
    assert yielding.making_way
    assert yielding.given_up > 0.3 * LINE


def test_small_pages_hardly_notice() -> None:
    alone = world(None, small=always).run(20.0).small_p95()
    line = world(DelayController(math.inf), small=always)
    line.run(8.0)
    assert line.run(30.0).small_p95() < alone + 0.05


def test_small_pages_do_not_wait_long_on_a_line_that_changes() -> None:
    def rate(now: float) -> float:
        return 0.44 * LINE if now % 4.0 < 2.0 else 0.34 * LINE

    alone = world(None, rate, small=always, queue_bytes=100_000.0).run(40.0).small_p95()
    line = world(DelayController(math.inf), rate, small=always, queue_bytes=100_000.0)
    line.run(8.0)
    outcome = line.run(60.0)
    assert outcome.small_p95() < alone + 0.042
    assert outcome.use > 0.5


def test_it_comes_back_when_the_line_is_idle_again() -> None:
    yielding = DelayController(math.inf)
    line = world(yielding, bulk=between(8.0, 20.0))
    line.run(19.0)
    assert yielding.rate < 0.05 * LINE
    line.run(28.0)
    assert line.run(36.0).use > 0.7


def test_the_floor_and_the_ceiling_hold() -> None:
    yielding = DelayController(0.5 * LINE, floor=60_000.0)
    line = world(yielding, bulk=lambda now: now >= 10.0)
    assert line.run(10.0).use < 0.51
    line.run(13.0)
    assert 0.8 * 60_000 < line.run(30.0).crawled_bytes / 17.0 < 1.3 * 60_000
    assert yielding.floor == 60_000.0


def test_a_line_that_becomes_slower_is_followed() -> None:
    line = world(DelayController(math.inf), lambda now: LINE if now < 15.0 else 0.3 * LINE)
    line.run(22.0)
    assert line.run(40.0).use > 0.6
    assert line.waiting < 100_000


def test_a_crawl_that_wants_little_is_not_held_back() -> None:
    yielding = DelayController(math.inf)
    line = world(yielding, wanted=200_000.0)
    line.run(8.0)
    assert line.run(20.0).crawled_bytes == pytest.approx(12.0 * 200_000, rel=0.05)
    assert yielding.rate < 0.6 * LINE, "nobody knows whether the line has more"


def test_nobody_answers_and_the_rate_falls_to_the_floor() -> None:
    yielding = DelayController(math.inf)
    line = world(yielding)
    line.run(10.0)
    line.probes_answered = False
    line.run(20.0)
    assert yielding.rate == yielding.floor
    line.probes_answered = True
    line.run(32.0)
    assert line.run(40.0).use > 0.7


def test_a_longer_way_is_taken_for_one() -> None:
    yielding = steady(DelayController(math.inf), trip=0.02, seconds=5.0, begin=0.0)
    before = yielding.rate
    steady(yielding, trip=0.09, seconds=10.0, begin=5.0)
    assert yielding.rate == yielding.floor
    steady(yielding, trip=0.09, seconds=90.0, begin=15.0)
    assert yielding.rate > before


def test_a_standing_queue_is_looked_under_now_and_then() -> None:
    yielding = steady(DelayController(math.inf), trip=0.020, seconds=3.0, begin=0.0)
    rates = []
    for tick in range(1200):
        now = 3.0 + tick * 0.05
        yielding.delay.add("a", 0.0235, now)
        rates.append(yielding.step(now, yielding.rate))
    dips = [tick for tick in range(1, 1200) if rates[tick] < 0.6 * rates[tick - 1]]
    assert len(dips) == 1, "once in 45 s"


def steady(
    yielding: DelayController, *, trip: float, seconds: float, begin: float
) -> DelayController:
    for tick in range(int(seconds / 0.05)):
        now = begin + tick * 0.05
        yielding.delay.add("a", trip, now)
        yielding.step(now, yielding.rate)
        yielding.check()
    return yielding


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.floats(-100.0, 1000.0),
            st.one_of(st.none(), st.floats(0.0, 30.0)),
            st.floats(0.0, 1e9),
        ),
        max_size=60,
    ),
    st.floats(1e3, 1e8),
    st.one_of(st.none(), st.floats(1.0, 1e9)),
)
def test_whatever_is_heard_the_rate_stays_between_floor_and_ceiling(
    news: list[tuple[float, float | None, float]], ceiling: float, floor: float | None
) -> None:
    """Clocks that jump to and fro, answers of all lengths and none, rates of all sizes."""
    yielding = DelayController(ceiling, floor)
    now = 0.0
    for jump, trip, came in news:
        now += jump
        if trip is not None:
            yielding.delay.add("a", trip, now)
        rate = yielding.step(now, came)
        yielding.check()
        assert 0 < rate <= ceiling


def test_one_slow_or_near_server_is_not_the_line() -> None:
    delay = LineDelay()
    for server, trip in (("near", 0.001), ("a", 0.02), ("b", 0.05), ("slow", 0.03)):
        delay.add(server, trip, 0.0)
    for server, trip in (("near", 0.001), ("a", 0.06), ("b", 0.09), ("slow", 0.9)):
        delay.add(server, trip, 1.0)
    assert delay.queueing(1.0) == pytest.approx(0.04)
    delay.check()


def test_a_new_server_is_not_thought_farther_than_it_is() -> None:
    delay = LineDelay()
    delay.add("a", 0.02, 0.0)
    delay.add("a", 0.12, 1.0)
    delay.add("b", 0.15, 1.0)
    assert delay.queueing(1.0) == pytest.approx(0.1)


def test_a_distance_is_forgotten_after_ten_minutes() -> None:
    delay = LineDelay()
    delay.add("a", 0.02, 0.0)
    for minute in range(1, 12):
        delay.add("a", 0.05, 60.0 * minute)
    assert delay.queueing(660.0) == 0.0


def test_it_begins_gently() -> None:
    assert DelayController(math.inf).rate == FIRST_RATE
    assert DelayController(1_000.0).rate == 1_000.0
