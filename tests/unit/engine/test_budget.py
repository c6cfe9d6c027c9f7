"""The budget while a job runs: timetable, the user's word, the quota and its ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from headgate.crawling.progress import Progress
from headgate.engine.budget import BudgetKeeper
from headgate.model.budget import Budget, Quota
from headgate.model.errors import DamagedFile
from headgate.model.timetable import Timetable
from headgate.model.units import UNLIMITED, BytesPerSecond
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import RunFolder
from headgate.storage.run_state import load_budget

NOON = 20_000 * 86_400.0 + 43_200.0
UTC = ZoneInfo("UTC")


@dataclass
class SetClock:
    time: float = 0.0

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return NOON + self.time


@dataclass
class Kept:
    folder: Path
    budget: Budget
    catalog: SqliteCatalog = field(default_factory=partial(SqliteCatalog, Path(":memory:")))
    clock: SetClock = field(default_factory=SetClock)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = RunFolder(self.folder, "run")
        self.run.spool.mkdir(parents=True, exist_ok=True)
        self.keeping = BudgetKeeper(
            self.budget, self.run, self.catalog, self.clock, self.said.extend
        )

    def look(self, seconds: float, came: int = 0) -> bool:
        self.clock.time = seconds
        return self.keeping.observe(seconds, [Progress("a", wire_bytes=came)])


def quota(text: str) -> Budget:
    return Budget(UNLIMITED, quota=Quota.parse(text, UTC))


def test_the_rate_is_the_timetables_by_the_hour(tmp_path: Path) -> None:
    table = Timetable.parse(["08:00 100 B/s", "13:00 300 B/s"], UTC)
    keeping = Kept(tmp_path, Budget(table)).keeping
    assert [keeping.rate_at(at) for at in (0.0, 3599.0, 3601.0)] == [100.0, 100.0, 300.0]


def test_the_users_last_word_replaces_the_timetable_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Budget(BytesPerSecond(500.0)))
    assert not kept.look(1.0)
    kept.run.save("budget", b"200.0")
    assert kept.look(2.0)
    assert kept.keeping.rate_at(2.0) == 200.0
    assert not kept.look(3.0), "nothing new was said"
    kept.run.save("budget", b"inf")
    assert kept.look(4.0)
    assert kept.keeping.capacity is None


def test_a_word_that_is_no_rate_is_told_once_and_changes_nothing(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Budget(BytesPerSecond(500.0)))
    kept.run.save("budget", b"much")
    kept.look(1.0)
    kept.look(2.0)
    assert len(kept.said) == 1
    assert "the budget stays as it was" in kept.said[0]
    assert kept.keeping.rate_at(2.0) == 500.0


@pytest.mark.parametrize("text", [b"0", b"-3", b"nan", b"", b"300 KB/s"])
def test_nothing_but_a_rate_above_zero_is_a_budget(tmp_path: Path, text: bytes) -> None:
    run = Kept(tmp_path, Budget(UNLIMITED)).run
    run.save("budget", text)
    with pytest.raises(DamagedFile, match="no rate"):
        load_budget(run)


def test_a_quota_used_up_pauses_and_its_ledger_is_saved_at_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path, quota("1 MB/day"))
    kept.look(1.0, came=600_000)
    assert kept.keeping.pause_began() is None
    kept.look(2.0, came=1_000_000)
    use = kept.keeping.pause_began()
    assert use is not None
    assert use.used == 1_000_000
    assert sum(kept.catalog.line_use(0).values()) == 1_000_000
    assert kept.keeping.rate_at(2.0) == 0.0
    assert kept.keeping.pause_began() is None, "told once"
    midnight = 43_201.0
    kept.look(midnight, came=1_000_000)
    assert (kept.keeping.rate_at(midnight) or 0.0) > 0.0, "a new day"


def test_what_earlier_runs_used_of_the_period_counts(tmp_path: Path) -> None:
    first = Kept(tmp_path, quota("1 MB/day"))
    first.look(1.0, came=1_000_000)
    first.keeping.save(1.0)
    again = Kept(tmp_path, quota("1 MB/day"), first.catalog)
    assert again.keeping.rate_at(0.0) == 0.0
    tomorrow = Kept(tmp_path, quota("1 MB/day"), first.catalog, SetClock(86_400.0))
    assert tomorrow.keeping.rate_at(0.0) != 0.0


def test_the_ledger_is_saved_every_five_seconds_and_no_byte_twice(tmp_path: Path) -> None:
    kept = Kept(tmp_path, quota("1 GB/day"))
    for second in range(1, 12):
        kept.look(float(second), came=100 * second)
        kept.keeping.save(float(second))
        saved = sum(kept.catalog.line_use(0).values())
        assert 100 * second - 500 <= saved <= 100 * second
    kept.keeping.save_use()
    assert sum(kept.catalog.line_use(0).values()) == 1100
