"""What may pass: the timetable through jumps of the clock, and the quota's last bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from headgate.control.allowance import Allowance, Arrivals, LineUse, first_slot
from headgate.control.timeline import Samples
from headgate.crawling.progress import Progress, TaskState
from headgate.model.budget import Budget, Quota, QuotaUse
from headgate.model.timetable import Timetable
from headgate.scheduling.capacity import Capacity, budget_capacity

BERLIN = ZoneInfo("Europe/Berlin")
TABLE = Timetable.parse(["08:00 100 KB/s", "20:00 300 KB/s"], BERLIN)
MORNING = datetime(2026, 11, 16, 7, tzinfo=BERLIN).timestamp()
HOUR = 3600.0
QUOTA = Quota.parse("10 MB/day", BERLIN)


def by_timetable(wall: float) -> Allowance:
    budget = Budget(TABLE)
    return Allowance(lambda start: budget_capacity(budget, start, 2), wall)


def rate(allowance: Allowance, now: float) -> float:
    assert allowance.capacity is not None
    return allowance.capacity.rate_at(now)


def test_the_timetable_turns_at_its_hour() -> None:
    allowance = by_timetable(MORNING)
    assert rate(allowance, 0.0) == 300e3
    assert allowance.capacity is not None
    assert allowance.capacity.next_turn(0.0) == HOUR


@pytest.mark.parametrize("jump", [3 * HOUR, -9 * HOUR, 90.0, 14 * 24 * HOUR])
def test_a_clock_that_jumps_takes_the_timetable_along(jump: float) -> None:
    allowance = by_timetable(MORNING)
    changed = allowance.observe(600.0, MORNING + 600.0 + jump, None)
    assert changed == (jump != 14 * 24 * HOUR), "two weeks later it is the same hour"
    for minutes in range(0, 48 * 60, 7):
        wall = datetime.fromtimestamp(MORNING + 600.0 + jump + 60 * minutes, UTC)
        assert rate(allowance, 600.0 + 60 * minutes) == TABLE.rate_at(wall)


def test_a_clock_that_is_set_right_a_little_changes_nothing() -> None:
    allowance = by_timetable(MORNING)
    assert not allowance.observe(600.0, MORNING + 600.5, None)


def test_the_users_rate_stays_whatever_the_clock_does() -> None:
    allowance = by_timetable(MORNING)
    allowance.fix(Capacity.constant(5e3))
    assert allowance.observe(1.0, MORNING + 1.0, None)
    assert not allowance.observe(2.0, MORNING + 5 * HOUR, None)
    assert rate(allowance, 2.0) == 5e3


def use(used: float, wall: float) -> QuotaUse:
    return QuotaUse(QUOTA, used, datetime.fromtimestamp(wall, UTC))


@pytest.mark.parametrize("base", [Capacity.constant(1e6), None])
def test_a_quota_is_never_overrun_and_pauses_until_midnight(base: Capacity | None) -> None:
    """Looked at once a second, with everything used that may pass."""
    allowance = Allowance(lambda _: base, MORNING, use(0.0, MORNING))
    used, now = 0.0, 0.0
    while now < 60.0:
        used += min(rate(allowance, now), 5e6)
        now += 1.0
        allowance.observe(now, MORNING + now, use(used, MORNING + now))
    assert 0.99 * QUOTA.bytes < used <= QUOTA.bytes
    assert rate(allowance, now) == 0.0
    midnight = 17 * HOUR
    assert allowance.capacity is not None
    assert allowance.capacity.rate_at(midnight - 1.0) == 0.0
    assert allowance.capacity.rate_at(midnight) > 0.0
    allowance.observe(midnight, MORNING + midnight, use(0.0, MORNING + midnight))
    assert rate(allowance, midnight) > 1e5


def test_an_ample_quota_leaves_an_unlimited_line_unlimited() -> None:
    ample = QuotaUse(Quota.parse("5 GB/day", BERLIN), 0.0, datetime.fromtimestamp(MORNING, UTC))
    assert Allowance(lambda _: None, MORNING, ample).capacity is None


def test_use_is_counted_once_and_by_period() -> None:
    line = LineUse.from_saved(
        {first_slot(QUOTA, MORNING) - 1: 7_000, first_slot(QUOTA, MORNING): 1_000}
    )
    report = Progress("a", wire_bytes=500, earlier_wire_bytes=300, under_way_bytes=50)
    line.observe([report], MORNING)
    line.observe([report], MORNING + 1)
    assert line.quota_use(QUOTA, MORNING).used == 1_250
    assert sum(line.unsaved().values()) == 250
    assert not line.unsaved()
    tomorrow = MORNING + 24 * HOUR
    assert line.quota_use(QUOTA, tomorrow).used == 0
    assert line.quota_use(Quota.parse("1 GB/month", BERLIN), tomorrow).used == 8_250


# Every byte of a site is counted once, however often it is begun anew.


def test_what_comes_after_a_restart_is_counted_from_its_beginning() -> None:
    """The first report of the new process may tell of less than the last of the old, or of more."""
    for after in (40, 400):
        arrivals = Arrivals()
        assert arrivals.fresh(Progress("a", wire_bytes=100)) == 100
        anew = Progress("a", wire_bytes=80 + after, earlier_wire_bytes=80, restarts=1)
        assert arrivals.fresh(anew) == after
        assert arrivals.fresh(anew) == 0


def test_the_next_visit_of_a_site_is_counted_whole() -> None:
    """A quota counts each of a thousand visits, although none brings more than the last."""
    use = LineUse.from_saved({})
    for visit in range(1, 1001):
        use.observe([Progress("a", wire_bytes=60, visit=visit)], 0.0)
        done = Progress("a", TaskState.DONE, 0.0, 1.0, wire_bytes=100, visit=visit)
        use.observe([done], 0.0)
    assert use.unsaved() == {0: 100_000}
    assert not use._counted._counted, "and nothing is kept of what has ended"


def test_samples_count_a_restarted_site_on() -> None:
    samples = Samples()
    samples.add(1.0, [Progress("a", wire_bytes=100)])
    samples.add(2.0, [Progress("a", wire_bytes=95, earlier_wire_bytes=80, restarts=1)])
    samples.add(3.0, [Progress("a", wire_bytes=120, earlier_wire_bytes=80, restarts=1)])
    assert samples.bytes_by_site["a"] == 140
