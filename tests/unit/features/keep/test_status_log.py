"""A keeper's life by the hour."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.status import Fresh, KeepCounts
from headgate.features.keep.status_log import HOUR, KeepLog

NOON = 1_000_000 * HOUR


def test_an_hour_is_given_once_when_it_is_over() -> None:
    log = KeepLog(NOON + 60)
    log.record_visit("docs", KeepCounts(visits=1, asked=10, changed=2, wire_bytes=500))
    log.record_estimate(Fresh(0.9, 0.8, 60.0, 600.0))
    log.record_promise(kept=True)
    assert log.turn(NOON + 3599) == []
    [over] = log.turn(NOON + 3600)
    assert (over.start, over.counts.asked, over.kept, over.late) == (NOON, 10, 1, 0)
    assert over.bytes_by_site == {"docs": 500}
    assert over.fresh == Fresh(0.9, 0.8, 60.0, 600.0)
    assert log.turn(NOON + 3601) == []
    assert log.open_hour().counts == KeepCounts()


def test_the_last_day_is_the_open_hour_and_24_before() -> None:
    log = KeepLog(NOON)
    for hour in range(40):
        log.record_visit("a", KeepCounts(visits=1))
        log.turn(NOON + (hour + 1) * HOUR)
    assert log.last_day(NOON + 40 * HOUR).visits == 24
    assert log.last_day(NOON + 60 * HOUR).visits == 4


def test_a_keeper_that_starts_again_goes_on_with_its_hour() -> None:
    first = KeepLog(NOON)
    first.record_visit("a", KeepCounts(visits=1))
    first.record_fetch(0.34, changed=True)
    [done] = first.turn(NOON + HOUR)
    first.record_visit("b", KeepCounts(visits=2))
    again = KeepLog(NOON + HOUR + 5, [done, first.open_hour()])
    assert again.open_hour() == first.open_hour()
    assert again.last_day(NOON + HOUR + 5).visits == 3
    assert again.checked() == first.checked()
    assert again.checked().found == (0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    later = KeepLog(NOON + 5 * HOUR, [done, first.open_hour()])
    assert later.open_hour().counts == KeepCounts()
    assert later.last_day(NOON + 5 * HOUR).visits == 3


def test_a_clock_set_back_opens_no_hour_twice() -> None:
    log = KeepLog(NOON)
    assert log.turn(NOON - 365 * 24 * HOUR) == []
    log.record_visit("a", KeepCounts(visits=1))
    [over] = log.turn(NOON + HOUR)
    assert (over.start, over.counts.visits) == (NOON, 1)


def test_only_the_largest_sites_are_named() -> None:
    log = KeepLog(NOON)
    for number in range(1000):
        log.record_visit(f"s{number}", KeepCounts(wire_bytes=number))
    sites = log.open_hour().bytes_by_site
    assert len(sites) == 21
    assert sum(sites.values()) == sum(range(1000))
    assert "s999" in sites
    assert "s979" not in sites


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans())))
def test_checks_add_up(looks: list[tuple[float, bool]]) -> None:
    log = KeepLog(NOON)
    for probability, changed in looks:
        log.record_fetch(probability, changed=changed)
    checked = log.checked()
    assert sum(checked.looks) == len(looks)
    assert sum(checked.found) == sum(changed for _, changed in looks)
    assert abs(sum(checked.said) - sum(probability for probability, _ in looks)) < 1e-9
