"""When the report so far is saved, and that others have their turns while a large one is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

import msgspec
import pytest

from headgate.control.run_report import ReportBuilder, RunLog, make_report
from headgate.crawling.background_tasks import Pieces, at_one_go, in_turns, metered
from headgate.crawling.progress import Progress, TaskState
from headgate.engine.session import ReportSaver
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.storage.collection import RunFolder
from headgate.storage.run_state import RunState, encoded_report, load_report

MANY = 3_000
MOST_BETWEEN_TURNS = 500
SECONDS_A_SITE = 0.001


@dataclass
class CountedSites(Sequence[Site]):
    """Making a site's report takes a millisecond of CPU time."""

    number: int
    asked: int = 0

    def __len__(self) -> int:
        return self.number

    @overload
    def __getitem__(self, at: int) -> Site: ...
    @overload
    def __getitem__(self, at: slice) -> list[Site]: ...
    def __getitem__(self, at: int | slice) -> Site | list[Site]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Site]:
        for number in range(self.number):
            self.asked += 1
            yield Site(f"s{number}", seeds=(f"http://h{number}.example/",))


@dataclass
class Leg:
    """A run of many sites that saves its report."""

    folder: Path
    sites: CountedSites
    log: RunLog = field(default_factory=lambda: RunLog.start_leg("run", 0.0, None, 0.0))
    others_cpu: float = 0.0
    saving: ReportSaver = field(init=False)
    run: RunFolder = field(init=False)

    def __post_init__(self) -> None:
        self.run = RunFolder(self.folder, "run")
        self.run.spool.mkdir(parents=True)
        self.saving = ReportSaver(
            RunState(self.run),
            lambda: ReportBuilder(self.sites, 1, None, self.log),
            lambda: self.others_cpu + SECONDS_A_SITE * self.sites.asked,
        )

    @property
    def made(self) -> int:
        """Reports so far."""
        return self.sites.asked // len(self.sites)

    def done(self, *names: str) -> None:
        told = [Progress(name, TaskState.DONE, 0.0, 1.0, pages=2, wire_bytes=7) for name in names]
        self.log.observe(self.log.seconds + 1.0, told, dict.fromkeys(names, 0.0))


def test_while_a_large_report_is_made_others_have_their_turns(tmp_path: Path) -> None:
    leg = Leg(tmp_path, CountedSites(MANY))
    longest = 0

    async def watch() -> None:
        nonlocal longest
        seen = leg.sites.asked
        while seen < MANY:
            await asyncio.sleep(0)
            longest, seen = max(longest, leg.sites.asked - seen), leg.sites.asked

    async def look() -> None:
        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        await in_turns(leg.saving.save_in_pieces(1.0, 1, 7))
        await watching
        await leg.saving.state.end(1.0)

    asyncio.run(look())
    assert 0 < longest <= MOST_BETWEEN_TURNS


def test_a_report_made_in_turns_is_the_one_made_at_once(tmp_path: Path) -> None:
    leg = Leg(tmp_path, CountedSites(MANY))
    leg.done("s3", "s2999")

    async def look() -> None:
        await in_turns(leg.saving.save_in_pieces(leg.log.seconds, 2, 7))
        await leg.saving.state.end(leg.log.seconds)

    asyncio.run(look())
    whole = make_report(leg.sites, 1, None, leg.log)
    assert whole.pages == 4
    assert load_report(leg.run) == msgspec.structs.replace(whole, under_way=True)


def test_the_report_at_the_end_has_all_that_came(tmp_path: Path) -> None:
    leg = Leg(tmp_path, CountedSites(MANY))

    async def look() -> None:
        await in_turns(leg.saving.save_in_pieces(0.0, 1, 7))
        leg.done("s0", "s1", "s2")
        await leg.saving.end(leg.log.seconds)

    asyncio.run(look())
    assert load_report(leg.run) == make_report(leg.sites, 1, None, leg.log)


def test_all_reports_together_take_a_hundredth_of_the_time_and_the_first_counts(
    tmp_path: Path,
) -> None:
    leg = Leg(tmp_path, CountedSites(MANY))
    made: list[int] = []

    async def looks() -> None:
        leg.saving.begin(0.0)
        for now in range(2, 602, 2):
            await in_turns(leg.saving.save_in_pieces(float(now), now, now))
            made.append(leg.made)
        await leg.saving.state.end(602.0)

    asyncio.run(looks())
    assert made[148] == 1, "three seconds for the first: none for the next 300"
    assert made[-1] == 3


def test_what_others_take_between_two_pieces_is_no_cost_of_the_report(tmp_path: Path) -> None:
    leg = Leg(tmp_path, CountedSites(MANY))

    async def looks() -> None:
        for _ in leg.saving.save_in_pieces(0.0, 1, 7):
            leg.others_cpu += 1000.0
        await in_turns(leg.saving.save_in_pieces(300.0, 2, 14))
        await leg.saving.state.end(300.0)

    asyncio.run(looks())
    assert leg.made == 2


@pytest.mark.parametrize("count", [0, 1, 600])
def test_sites_are_encoded_in_their_place(count: int) -> None:
    log = RunLog.start_leg("\0 run", 0.0, None, 0.0)
    log.policy_fault = '"sites":\0[] \\u0000'
    sites = [Site(f"s\0{number}") for number in range(count)]
    making = ReportBuilder(sites, 1, None, log)
    data = at_one_go(encoded_report(making.some_sites(), making.rest))
    assert data == msgspec.json.encode(make_report(sites, 1, None, log))
    assert len(msgspec.json.decode(data, type=RunReport).sites) == count


def test_metered_work_gives_its_result() -> None:
    spent: list[float] = []
    clock = iter(range(100))

    def work() -> Pieces[int]:
        yield
        yield
        return 5

    assert at_one_go(metered(work(), lambda: next(clock), spent.append)) == 5
    assert spent == [1, 1, 1]
