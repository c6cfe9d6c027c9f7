"""A bucket owes, earns and never lets more out than its rate, its burst and one amount."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headgate.bandwidth.rate_limiter import TokenBucket

_STEPS = st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5000)), max_size=60)


@given(rate=st.floats(1, 1e7), burst=st.floats(0, 1e6), steps=_STEPS)
def test_takes_no_more_than_rate_burst_and_one_amount(
    rate: float, burst: float, steps: list[tuple[float, float]]
) -> None:
    bucket = TokenBucket(rate, burst, 0.0)
    now, taken = 0.0, [(0.0, 0.0)]
    for pause, amount in steps:
        now += pause
        if bucket.ready_time() <= now:
            bucket.consume(amount, now)
            taken.append((now, amount))
        bucket.check()
    largest = max(amount for _, amount in taken)
    for first in range(len(taken)):
        window = 0.0
        for moment, amount in taken[first:]:
            window += amount
            allowed = rate * (moment - taken[first][0]) + burst + largest
            assert window <= allowed * (1 + 1e-9) + 1e-6


@given(rate=st.floats(1, 1e6), debt=st.floats(0, 1e6), start=st.floats(0, 1e6))
def test_is_ready_when_it_said(rate: float, debt: float, start: float) -> None:
    bucket = TokenBucket(rate, 0.0, start)
    bucket.consume(debt, start)
    ready = bucket.ready_time()
    assert abs(bucket.tokens(ready)) <= 1e-6 * rate + 1e-6
    assert ready >= start


def test_a_rate_of_zero_never_recovers_until_it_changes() -> None:
    bucket = TokenBucket(0.0, 10.0, 0.0)
    bucket.consume(20.0, 1.0)
    assert bucket.ready_time() == math.inf
    bucket.set_rate(10.0, 10.0, 5.0)
    assert bucket.ready_time() == 7.0


def test_an_infinite_rate_never_runs_out() -> None:
    bucket = TokenBucket(math.inf, 10.0, 0.0)
    bucket.consume(1e12, 0.0)
    assert bucket.tokens(0.0) == math.inf
    bucket.set_rate(10.0, 5.0, 1.0)
    assert bucket.tokens(1.0) == 0.0


def test_what_is_given_back_may_pass_the_burst_but_savings_may_not() -> None:
    bucket = TokenBucket(10.0, 100.0, 0.0)
    bucket.consume(50.0, 0.0)
    bucket.give_back(500.0, 0.0)
    assert bucket.tokens(0.0) == 300.0
    assert bucket.tokens(60.0) == 300.0, "nor does it grow"
    bucket.consume(250.0, 60.0)
    assert bucket.tokens(120.0) == 100.0


def test_time_does_not_go_back() -> None:
    bucket = TokenBucket(10.0, 100.0, 10.0)
    bucket.consume(100.0, 10.0)
    assert bucket.tokens(5.0) == -100.0
