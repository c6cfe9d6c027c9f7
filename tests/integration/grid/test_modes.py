"""Every way of saying who gets what brings all tasks home, also when a node vanishes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.contract.desk_office import DeskOffice, new_run
from tests.contract.task_offices import LEASE_SECONDS, HandClock
from tests.contract.test_task_source import Result, brought

from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.coordinator import placing_of
from headgate.features.grid.coordinator.requests import DeskView
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.protocol import Beat, Claim, Grant, Word, encoded
from headgate.features.grid.scheduler.records import BoardState, NewTask
from headgate.model.grid import GridTerms, Mode, Placement
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder

SITES = [f"{letter}{number}" for letter in "abc" for number in range(5)]
WAYS = [GridTerms(mode=mode) for mode in Mode] + [
    GridTerms(placement=placement) for placement in Placement
]


def board_of(catalog: SqliteCatalog, run: RunFolder) -> SqlBoard:
    catalog.begin_run(run.stamp, 1.0, "{}")
    board = SqlBoard(catalog.database)
    for number, name in enumerate(SITES):
        spec = encoded(TaskSpec(task=Task(Site(name, seeds=(f"http://{name}.test/",)))))
        task = NewTask(
            run=run.stamp, site=name, host=f"{name}.test", spec=spec, value=float(number),
            expected_seconds=1.0 + number, expected_bytes=1e5 * (1 + number),
        )  # fmt: skip
        board.add_tasks([task])
    return board


@pytest.mark.parametrize("terms", WAYS, ids=lambda terms: f"{terms.mode} {terms.placement}")
def test_all_tasks_come_home(tmp_path: Path, terms: GridTerms) -> None:
    async def play() -> None:
        clock = HandClock()
        run = new_run(tmp_path, clock)
        with SqliteCatalog(Collection(tmp_path).catalog) as catalog:
            office = DeskOffice(run, board_of(catalog, run), clock)
            placing = placing_of(terms, DeskView(office.desk), 1)
            office.desk.board.choice.choose = placing.choose
            await office.desk.open()
            await work(office)
            assert office.store.count(run.stamp) == {BoardState.DONE: len(SITES)}

    asyncio.run(play())


async def work(office: DeskOffice) -> None:
    """Three nodes; the third claims twice and is never heard of again."""
    for node in ("n1", "n2", "n3"):
        for k, name in enumerate(SITES):
            office.desk.connects.setdefault(f"{name}.test", {})[node] = 0.01 * (1 + k % 4)
        await office.source(node).beat(Beat(life=1, number=1))
    for turn in range(2):
        await office.source("n3").claim(Claim(id=f"lost-{turn}"))
    for turn in range(100):
        for node in ("n1", "n2"):
            source = office.source(node)
            await source.beat(Beat(life=1, number=2 + turn))
            answer = await source.claim(Claim(id=f"{node}-{turn}"))
            if isinstance(answer, Grant):
                result = Result(answer.lease, answer.task.name)
                assert await brought(source, result) is Word.COMMITTED
        office.pass_time(LEASE_SECONDS / 3)
        if office.desk.board.tasks.left == 0:
            return
