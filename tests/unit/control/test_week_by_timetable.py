"""A week of a crawl in made-up time: the line is as wide as the clock on the wall says, always."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from headgate.bandwidth.server_tally import ServerTally
from headgate.control.allowance import Allowance
from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast, Source
from headgate.control.manager import Manager
from headgate.crawling.progress import Progress
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.timetable import Timetable
from headgate.scheduling.capacity import budget_capacity

BERLIN = ZoneInfo("Europe/Berlin")
ENTRIES = ["Mon-Fri 08:00 1 KB/s", "01:30 2 KB/s", "02:15 3 KB/s", "02:45 0", "03:30 4 KB/s"]
WEEK = 7 * 86400.0


@dataclass
class MadeUpTime:
    """The clock, and a fleet that only lets time pass."""

    began: datetime
    seconds: float = 0.0
    jump: float = 0.0
    """By which the clock on the wall was set forward."""
    totals: list[tuple[datetime, float]] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return self.began.timestamp() + self.seconds + self.jump

    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.wall(), UTC)

    def set_total(self, rate: float) -> None:
        self.totals.append((self.moment(), rate))

    def start(self, task: Task) -> None: ...

    def set_rates(self, rates: Mapping[str, float]) -> None: ...

    def stop(self, site: str, reason: str) -> None: ...

    def progress(self) -> Sequence[Progress]:
        return [Progress("a", to_do=9)]

    def servers(self) -> Mapping[str, ServerTally]:
        return {}

    async def wait(self, seconds: float) -> Sequence[Progress]:
        self.seconds += max(seconds, 0.0)
        return []

    async def close(self, reason: str) -> None: ...


def crawled_week(
    time: MadeUpTime, look_seconds: float, jump_at: float = WEEK, jump: float = 0.0
) -> None:
    """A crawl without end, broken off after a week, as `grid.crawl` would hold it."""
    budget = Budget(Timetable.parse(ENTRIES, BERLIN))
    allowance = Allowance(lambda start: budget_capacity(budget, start, 2), time.wall())
    manager = Manager.from_sites(
        [Site("a")], {"a": Forecast(1e12, Source.GUESS)}, allowance.capacity, 1
    )

    def observe(now: float, _: Sequence[Progress], __: Mapping[str, float]) -> None:
        if now >= jump_at:
            time.jump = jump
        if allowance.observe(now, time.wall(), None):
            run.set_budget(allowance.capacity)
        if now >= WEEK:
            run.interrupt("enough")

    run = ControlLoop(manager, time, time, observe, look_seconds)
    asyncio.run(run.run())


def shown_rate(moment: datetime) -> float:
    """What the clock on the wall says, by hand."""
    local = moment.astimezone(BERLIN)
    clock = f"{local:%H:%M}"
    workday_from = local.weekday() < 5 and clock >= "08:00"
    if workday_from:
        return 1e3
    turns = [("03:30", 4e3), ("02:45", 0.0), ("02:15", 3e3), ("01:30", 2e3)]
    for turn, rate in turns:
        if clock >= turn:
            return rate
    return 1e3 if (local.weekday() - 1) % 7 < 5 else 4e3  # what held at the end of yesterday


def rate_set_at(time: MadeUpTime, moment: datetime) -> float:
    return next(rate for at, rate in reversed(time.totals) if at <= moment)


@pytest.mark.parametrize(
    "began",
    [
        datetime(2026, 3, 26, 10, tzinfo=UTC),  # clocks go forward on the 29th
        datetime(2026, 10, 22, 10, tzinfo=UTC),  # and back on the 25th
        datetime(2026, 11, 16, 10, tzinfo=UTC),
    ],
)
def test_every_minute_of_the_week(began: datetime) -> None:
    time = MadeUpTime(began)
    crawled_week(time, look_seconds=1700.0)  # not by looking often
    for minute in range(7 * 24 * 60):
        moment = began + timedelta(minutes=minute)
        assert rate_set_at(time, moment) == shown_rate(moment), moment.astimezone(BERLIN)


@pytest.mark.parametrize("jump", [5 * 3600.0, 2 * 86400.0])
def test_a_clock_set_forward_takes_the_rate_along(jump: float) -> None:
    began = datetime(2026, 11, 16, 10, tzinfo=UTC)
    time = MadeUpTime(began)
    crawled_week(time, look_seconds=60.0, jump_at=40_000.0, jump=jump)
    after = began + timedelta(seconds=40_000.0 + jump + 120)
    for minute in range(3 * 24 * 60):
        moment = after + timedelta(minutes=minute)
        assert rate_set_at(time, moment) == shown_rate(moment), moment.astimezone(BERLIN)
