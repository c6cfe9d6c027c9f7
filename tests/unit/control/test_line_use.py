"""The ledger of a quota: every byte once, in its slot, over all runs."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from headgate.control.allowance import LineUse, first_slot
from headgate.crawling.progress import Progress
from headgate.model.budget import SLOT_SECONDS, Quota

DAY = 86_400.0
MIDNIGHT = 20_000 * DAY
QUOTA = Quota.parse("1 MB/day", ZoneInfo("UTC"))


def test_bytes_under_way_count_and_none_counts_twice() -> None:
    line = LineUse.from_saved({})
    line.observe([Progress("a", wire_bytes=100, under_way_bytes=50)], MIDNIGHT)
    assert line.quota_use(QUOTA, MIDNIGHT).used == 150
    line.observe([Progress("a", wire_bytes=150)], MIDNIGHT)
    line.observe(
        [Progress("a", wire_bytes=160), Progress("b", wire_bytes=7)], MIDNIGHT + SLOT_SECONDS
    )
    assert line.unsaved() == {first_slot(QUOTA, MIDNIGHT): 150, first_slot(QUOTA, MIDNIGHT) + 1: 17}


def test_what_an_interrupted_run_moved_before_is_not_counted_again() -> None:
    line = LineUse.from_saved({})
    line.observe([Progress("a", wire_bytes=900, earlier_wire_bytes=800)], MIDNIGHT)
    assert sum(line.unsaved().values()) == 100


def test_what_was_given_out_to_be_saved_is_not_given_out_again() -> None:
    line = LineUse.from_saved({})
    line.add(10, MIDNIGHT)
    assert sum(line.unsaved().values()) == 10
    assert line.unsaved() == {}
    line.add(5, MIDNIGHT)
    assert sum(line.unsaved().values()) == 5
    assert line.quota_use(QUOTA, MIDNIGHT).used == 15


def test_a_period_begins_with_its_first_slot_and_not_before() -> None:
    first = first_slot(QUOTA, MIDNIGHT + 5)
    line = LineUse.from_saved({first - 1: 1000, first: 30, first + 95: 4})
    assert line.quota_use(QUOTA, MIDNIGHT + DAY - 1).used == 34
    assert line.quota_use(QUOTA, MIDNIGHT + DAY).used == 0
