"""Server speeds: the paper's numbers, the bias of its rule, and what must not throw an estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.bandwidth.server_speed import Measure, Rule, ServerSpeed, ServerSpeeds, weight
from headgate.model.timetable import DayKind, LocalMoment

_KINDS = st.sampled_from(DayKind)
_MEASURES = st.builds(
    Measure,
    bytes=st.floats(0, 1e9),
    seconds=st.floats(0, 1e4),
    requests=st.integers(1, 1000),
    first_byte_seconds=st.floats(0, 100),
    at_least=st.booleans(),
)


def at(hour: float, kind: DayKind = DayKind.WORKING, day: int = 0) -> LocalMoment:
    return LocalMoment(60.0 * hour, kind, 86400.0 * day + 3600.0 * hour)


def literal(
    estimates: list[float], minute: float, rate: float, *, circular: bool = True
) -> list[float]:
    """The paper's update, written once more by its text."""
    updated = []
    for hour, estimate in enumerate(estimates):
        y = minute - 60 * hour
        if circular:
            y = (y + 720) % 1440 - 720
        phi = 0.3 * math.exp(-(y**2) / 120**2)
        updated.append((1 - phi) * estimate + phi * rate)
    return updated


def test_the_weights_are_the_papers() -> None:
    expected = {0: 0.30, 60: 0.234, 120: 0.110, 180: 0.032, 240: 0.0055}
    assert {y: weight(y) for y in expected} == pytest.approx(expected, rel=0.02)


@given(st.lists(st.tuples(st.integers(0, 1439), st.floats(1.0, 1e6)), min_size=1, max_size=30))
def test_the_papers_rule_does_what_its_text_says(measures: list[tuple[int, float]]) -> None:
    server = ServerSpeed()
    estimates = [measures[0][1]] * 24
    for index, (minute, rate) in enumerate(measures):
        server.learn(Measure(rate, 1.0), LocalMoment(minute, DayKind.WORKING), Rule.PAPER)
        estimates = literal(estimates, minute, rate) if index else estimates
    assert server.hourly(DayKind.WORKING) == pytest.approx(estimates)
    assert server.hourly(DayKind.HOLIDAY) == pytest.approx([measures[0][1]] * 24)


def test_midnight_is_no_wall() -> None:
    """200 measures at 23:50: read literally, the paper's hours leave hour 0 where it was."""
    straight = [100.0] * 24
    server = ServerSpeed()
    server.learn(Measure(100.0, 1.0), at(12), Rule.PAPER)
    for _ in range(200):
        straight = literal(straight, 23 * 60 + 50, 50.0, circular=False)
        server.learn(Measure(50.0, 1.0), at(23 + 50 / 60), Rule.PAPER)
    assert straight[0] == pytest.approx(100.0)
    assert server.hourly(DayKind.WORKING)[0] == pytest.approx(50.0)


@pytest.mark.parametrize("rule", Rule)
def test_the_first_measure_fills_every_hour_of_every_day(rule: Rule) -> None:
    server = ServerSpeed()
    assert server.rate(at(3)) is None
    server.learn(Measure(3000.0, 2.0), at(3.3), rule)
    for kind in DayKind:
        assert server.hourly(kind) == pytest.approx([1500.0] * 24)


def test_between_two_hours_the_estimate_lies_between_theirs() -> None:
    server = ServerSpeed()
    for rate, hour in ((100.0, 22), (900.0, 0), (300.0, 11)) * 40:
        server.learn(Measure(rate, 1.0), at(hour), Rule.PAPER)
    hours = server.hourly(DayKind.WORKING)
    assert server.rate(at(23)) == pytest.approx(hours[23])
    assert server.rate(at(23.25)) == pytest.approx(0.75 * hours[23] + 0.25 * hours[0])


def _diurnal(minute: float) -> float:
    return 100e3 * (1 + 0.5 * math.sin(2 * math.pi * minute / 1440))


def _error_after_two_days(rule: Rule) -> float:
    """Of a server measured every other minute, the worst relative error of any minute."""
    server = ServerSpeed()
    for day in range(2):
        for minute in range(0, 1440, 2):
            measure = Measure(20 * _diurnal(minute), 20.0)
            server.learn(measure, at(minute / 60, day=day), rule)
    rates = [server.rate(at(minute / 60)) or 0.0 for minute in range(1440)]
    return max(abs(rate / _diurnal(minute) - 1) for minute, rate in enumerate(rates))


def test_many_measures_do_not_drag_an_hour_towards_the_next_ones() -> None:
    """Forgetting by the measure does: what a cell held is gone before its hour comes back."""
    assert _error_after_two_days(Rule.PAPER) > 0.4
    assert _error_after_two_days(Rule.RATIO) > 0.3
    assert _error_after_two_days(Rule.STEADY) < 0.1


@pytest.mark.parametrize("rule", [Rule.RATIO, Rule.STEADY])
def test_bytes_over_seconds_is_unbiased_where_long_documents_are_faster(rule: Rule) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.lognormal(9.5, 1.2, 2000)
    seconds = 0.2 + sizes / 300e3
    paper, server = ServerSpeed(), ServerSpeed()
    seen = []
    for size, took in zip(sizes.tolist(), seconds.tolist(), strict=True):
        paper.learn(Measure(size, took), at(12), Rule.PAPER)
        server.learn(Measure(size, took), at(12), rule)
        seen.append((paper.rate(at(12)) or 0.0, server.rate(at(12)) or 0.0))
    truth = sizes.sum() / seconds.sum()
    of_paper, of_ours = np.mean(seen[500:], axis=0) / truth
    assert of_paper < 0.75
    # Ten measures' memory: the mean of a ratio is a little below the ratio of means.
    assert of_ours == pytest.approx(1.0, abs=0.08 if rule is Rule.RATIO else 0.05)


@pytest.mark.parametrize("rule", [Rule.RATIO, Rule.STEADY])
def test_a_server_that_lies_in_bursts_is_not_believed(rule: Rule) -> None:
    """Every fifth answer comes at a gigabyte per second, out of a buffer."""
    server = ServerSpeed()
    for number in range(200):
        honest = Measure(100e3, 1.0)
        burst = Measure(1e6, 0.001)
        server.learn(burst if number % 5 == 4 else honest, at(12 + number / 3600), rule)
    # Of the time that passed, hardly any was spent in bursts.
    assert server.rate(at(12)) == pytest.approx(100e3, rel=0.25 if rule is Rule.RATIO else 0.02)


@given(st.lists(st.tuples(_MEASURES, st.floats(0, 23.99), _KINDS), max_size=20), _MEASURES)
def test_no_single_measure_doubles_or_halves_a_ratio(
    before: list[tuple[Measure, float, DayKind]], last: Measure
) -> None:
    server = ServerSpeed()
    for measure, hour, kind in before:
        server.learn(measure, at(hour, kind), Rule.RATIO)
    was = server.hourly(DayKind.WORKING)
    had_limit = server.bounded
    server.learn(last, at(9), Rule.RATIO)
    assert server.sound
    if was and (had_limit or last.at_least):
        for old, new in zip(was, server.hourly(DayKind.WORKING), strict=True):
            assert 0.47 * old <= new * (1 + 1e-9)
            assert new <= 2.12 * old * (1 + 1e-9)


@given(st.lists(st.tuples(_MEASURES, st.floats(0, 23.99), _KINDS), max_size=40))
def test_an_estimate_lies_between_the_measures(
    measures: list[tuple[Measure, float, DayKind]],
) -> None:
    server = ServerSpeed()
    for number, (measure, hour, kind) in enumerate(measures):
        server.learn(measure, at(hour, kind, day=number))
        assert server.sound
    rates = [m.bytes / m.seconds for m, *_ in measures if m.seconds >= 1e-6 and m.bytes >= 1]
    for kind in DayKind:
        for rate in server.hourly(kind):
            assert min(rates) * (1 - 1e-6) <= rate <= max(rates) * (1 + 1e-6)


def test_our_own_limit_is_not_taken_for_the_servers() -> None:
    server = ServerSpeed()
    server.learn(Measure(10e3, 1.0, at_least=True), at(12))
    assert server.rate(at(12)) == pytest.approx(10e3)
    assert not server.bounded
    server.learn(Measure(80e3, 1.0), at(12))
    assert server.rate(at(12)) == pytest.approx(80e3), "the first real measure replaces a bound"
    for _ in range(50):
        server.learn(Measure(10e3, 1.0, at_least=True), at(12))
    assert server.rate(at(12)) == pytest.approx(80e3)
    for _ in range(500):
        server.learn(Measure(160e3, 1.0, at_least=True), at(12))
    assert server.rate(at(12)) == pytest.approx(160e3, rel=0.01), "it did give that much"


def test_weekend_and_working_day_are_kept_apart() -> None:
    server = ServerSpeed()
    for minute in range(60):
        server.learn(Measure(50e3 * 20, 20.0), at(12 + minute / 60))
    for minute in range(60):
        moment = at(12 + minute / 60, DayKind.HOLIDAY, day=5)
        server.learn(Measure(200e3 * 20, 20.0), moment)
    assert server.rate(at(12.5)) == pytest.approx(50e3, rel=0.05)
    assert server.rate(at(12.5, DayKind.HOLIDAY)) == pytest.approx(200e3, rel=0.05)


def test_a_change_is_learned_within_days() -> None:
    server = ServerSpeed()
    for day in range(20):
        rate = 100e3 if day < 10 else 40e3
        for minute in range(120):
            server.learn(Measure(rate * 20, 20.0), at(20 + minute / 60, day=day))
        if day == 13:
            after_four = server.rate(at(21)) or 0.0
    assert after_four == pytest.approx(55e3, rel=0.3)
    assert server.rate(at(21)) == pytest.approx(40e3, rel=0.1)


@pytest.mark.parametrize("jump", [-7 * 86400.0, 7 * 86400.0])
def test_a_clock_that_jumps_forgets_no_more_than_an_hour(jump: float) -> None:
    server = ServerSpeed()
    for minute in range(60):
        server.learn(Measure(100e3, 1.0), at(12 + minute / 60, day=30))
    server.learn(Measure(1e3, 1.0), LocalMoment(12 * 60, DayKind.WORKING, 30 * 86400 + jump))
    assert server.rate(at(12)) == pytest.approx(100e3, rel=0.05)


def test_a_request_costs_what_does_not_depend_on_its_bytes() -> None:
    rng = np.random.default_rng(3)
    server = ServerSpeed()
    for size in rng.lognormal(10, 1, 300).tolist():
        server.learn(Measure(size, 0.3 + size / 500e3, 1, 0.12), at(12))
    assert server.request_seconds == pytest.approx(0.3, rel=0.02)
    assert server.latency_seconds == pytest.approx(0.12)


def test_requests_all_alike_cost_their_latency() -> None:
    server = ServerSpeed()
    for _ in range(20):
        server.learn(Measure(10e3, 0.5, 1, 0.2), at(12))
    assert server.request_seconds == pytest.approx(0.2)


@given(st.lists(st.tuples(_MEASURES, st.floats(0, 23.99), _KINDS), max_size=20))
def test_what_is_stored_comes_back(measures: list[tuple[Measure, float, DayKind]]) -> None:
    server = ServerSpeed()
    for measure, hour, kind in measures:
        server.learn(measure, at(hour, kind))
    stored = server.encode()
    again = ServerSpeed.decode(stored, server.measures, server.latest)
    assert len(stored) == 412
    assert again.known == server.known
    for kind in DayKind:
        assert again.hourly(kind) == pytest.approx(server.hourly(kind), rel=1e-5)
    assert again.latency_seconds == pytest.approx(server.latency_seconds, rel=1e-5)


def test_what_is_not_ours_is_refused() -> None:
    with pytest.raises(ValueError, match="not the estimates"):
        ServerSpeed.decode(b"abcd", 1, 0.0)


def test_downloads_of_one_address_share_and_strangers_are_like_the_median() -> None:
    speeds = ServerSpeeds()
    assert speeds.rate("192.0.2.1", at(12)) is None
    for last, rate in enumerate((10e3, 20e3, 90e3)):
        speeds.learn(f"192.0.2.{last}", Measure(rate, 1.0), at(12))
    assert speeds.rate("192.0.2.2", at(12), sharing=3) == pytest.approx(30e3)
    assert speeds.rate("198.51.100.9", at(12)) == pytest.approx(20e3)


@pytest.mark.parametrize("rule", [Rule.PAPER, Rule.RATIO])
def test_what_earlier_runs_learned_begins_another_rule(rule: Rule) -> None:
    """By the hour, and worth a measure."""
    known = ServerSpeed()
    for _ in range(50):
        known.learn(Measure(90_000, 1.0), at(3))
        known.learn(Measure(30_000, 1.0), at(12))
    speeds = ServerSpeeds(rule=rule, find=lambda _: known)
    before = known.rate(at(12)) or 0.0
    assert speeds.rate("a", at(12)) == pytest.approx(before)
    assert speeds.rate("a", at(3)) == pytest.approx(known.rate(at(3)))
    for _ in range(60):
        speeds.learn("a", Measure(60_000, 1.0), at(12))
    assert speeds.rate("a", at(12)) == pytest.approx(60_000, rel=0.02)
    assert known.rate(at(12)) == before
