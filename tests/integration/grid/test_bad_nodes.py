"""Nodes that hang, die of a task, or take more than they can do, at a desk behind a real server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.contract.desk_office import DeskOffice, at_desk_over_nats
from tests.contract.task_offices import LEASE_SECONDS
from tests.contract.test_task_source import Result, beat_of, brought, claimed, granted

from headgate.features.grid.coordinator.progress import GridProgress
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.protocol import (
    Beat,
    Chunk,
    Claim,
    FileDigest,
    FileSize,
    Grant,
    Idle,
    Lease,
    Put,
    Word,
)
from headgate.features.grid.scheduler.records import BoardState, NewTask
from headgate.model.site import Site
from headgate.model.task import Task


def at_the_desk(folder: Path, scene: Callable[[DeskOffice], Awaitable[None]]) -> None:
    async def play() -> None:
        async with at_desk_over_nats(folder) as office:
            await scene(office)

    asyncio.run(play())


def test_a_node_that_hangs_while_it_beats_loses_its_task(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        hanging = office.source("n1")
        grant = await claimed(hanging, "a")
        for number in range(1, 12):
            office.pass_time(LEASE_SECONDS / 3)
            orders = await hanging.beat(beat_of(grant, number=number))
        (stop,) = orders.stop
        assert stop.lease == grant.lease
        assert "stuck" in stop.why
        assert (await claimed(office.source("n2"), "a")).lease.epoch > grant.lease.epoch

    at_the_desk(tmp_path, scene)


def test_a_task_that_ends_its_nodes_is_given_up_and_its_late_result_is_taken(
    tmp_path: Path,
) -> None:
    async def scene(office: DeskOffice) -> None:
        for site in ("b", "c"):
            grant = await claimed(office.source("n1"), site)
            assert await brought(office.source("n1"), Result(grant.lease, site)) is Word.COMMITTED
            await office.source("n1").beat(Beat(life=1, number=1, leaving=True))
        lost: list[Grant] = []
        for node in ("n1", "n2", "n3"):
            lost.append(await claimed(office.source(node), "a"))
            office.pass_time(2 * LEASE_SECONDS)
        idle = await office.source("n1").claim(Claim(id="again"))
        assert isinstance(idle, Idle)
        assert idle.left == 1, "its nodes may be only silent"
        for number, node in enumerate(("n1", "n2", "n3")):
            died = msgspec.structs.replace(beat_of(lost[number]), life=2)
            assert (await office.source(node).beat(died)).stop
        idle = await office.source("n1").claim(Claim(id="once more"))
        assert isinstance(idle, Idle)
        assert idle.left == 0
        assert office.store.count(office.run.stamp)[BoardState.DROPPED] == 1
        assert await brought(office.source("n2"), Result(lost[1].lease, "a")) is Word.COMMITTED

    at_the_desk(tmp_path, scene)


def test_nothing_stays_of_a_task_that_is_given_up(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        source, arriving = office.source("n1"), office.run.spool / "arriving"
        half = Result((await claimed(source, "a")).lease, "a", "half")
        await source.put(half.put)
        assert await source.chunk(Chunk(lease=half.lease, file=1, offset=0), b"x")
        assert list(arriving.iterdir())
        office.desk.ending.end(half.lease.task, "given up")
        await source.beat(Beat(life=1, number=1, leaving=True))
        office.desk.ending.drop_waiting()
        await source.beat(Beat(life=2, number=1))
        assert office.store.count(office.run.stamp)[BoardState.DROPPED] == 1
        assert not list(arriving.iterdir())
        assert not await source.chunk(Chunk(lease=half.lease, file=1, offset=0), b"x")
        assert await brought(source, half) is Word.COMMITTED, "it may come whole all the same"

    at_the_desk(tmp_path, scene)


def test_what_is_being_checked_when_its_task_is_given_up_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(office: DeskOffice) -> None:
        source, go_on = office.source("n1"), threading.Event()
        whole = Result((await claimed(source, "a")).lease, "a", "whole")
        await source.put(whole.put)
        await whole.send(source)
        keep = UploadFiles.keep

        def slowly(self: UploadFiles, lease: Lease, files: Sequence[FileDigest]) -> None:
            go_on.wait(60.0)
            keep(self, lease, files)

        monkeypatch.setattr(UploadFiles, "keep", slowly)
        done = asyncio.create_task(source.done(whole.manifest))
        await asyncio.sleep(0.1)
        office.desk.ending.end(whole.lease.task, "given up")
        await source.beat(Beat(life=1, number=1, leaving=True))
        office.desk.ending.drop_waiting()
        await source.beat(Beat(life=2, number=1))
        go_on.set()
        assert (await done).word is Word.COMMITTED
        assert office.results() == {"a": whole.files}

    at_the_desk(tmp_path, scene)


def test_a_late_result_comes_too_late_once_the_run_is_over(tmp_path: Path) -> None:
    """It would lie in a run that is sealed, and would make it look unfinished."""

    async def scene(office: DeskOffice) -> None:
        source = office.source("n1")
        late = Result((await claimed(source, "a")).lease, "a", "late")
        office.desk.ending.end(late.lease.task, "given up")
        await source.beat(Beat(life=1, number=1, leaving=True))
        office.desk.ending.drop_waiting()
        await source.put(late.put)
        await office.desk.receiving.take_no_more()
        office.run.finish()
        assert not await source.chunk(Chunk(lease=late.lease, file=1, offset=0), b"x")
        assert (await source.done(late.manifest)).word is Word.SUPERSEDED
        assert (await source.put(late.put)).word is Word.SUPERSEDED
        assert not office.run.unfinished

    at_the_desk(tmp_path, scene)


def test_who_claims_and_never_works_has_four_tasks_for_a_slot(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        more = [
            NewTask(
                run=office.run.stamp, site=name, host=name,
                spec=msgspec.json.encode(TaskSpec(task=Task(Site(name, (f"http://{name}/",))))),
            )
            for name in map("more{}.test".format, range(9))
        ]  # fmt: skip
        for task in office.store.add_tasks(more):
            office.desk.board.add(task)
        answers = [await office.source("n1").claim(Claim(id=f"c{turn}")) for turn in range(9)]
        assert sum(isinstance(answer, Grant) for answer in answers) == 4
        await granted(office.source("n2"), "mine")

    at_the_desk(tmp_path, scene)


def test_a_result_far_larger_than_expected_is_refused(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        grant = await claimed(office.source("n1"), "a")
        task = office.desk.board.tasks.get(grant.lease.task)
        assert task is not None
        task.expected_bytes = 1e6
        files = (FileSize(name="a.journal", size=5 * 10**9),)
        verdict = await office.source("n1").put(Put(lease=grant.lease, files=files))
        assert verdict.word is Word.REFUSED
        assert "far more than was expected" in verdict.why

    at_the_desk(tmp_path, scene)


def test_a_task_too_large_for_a_message_is_given_up_and_others_are_given(tmp_path: Path) -> None:
    """No node would ever get it, and its claim would have no answer."""

    async def scene(office: DeskOffice) -> None:
        urls = tuple(f"http://large.test/{'x' * 300}/{page}" for page in range(5_000))
        task = Task(Site("large", ("http://large.test/",)), asks=urls)
        large = NewTask(
            run=office.run.stamp, site="large", host="large.test", value=9.0,
            spec=msgspec.json.encode(TaskSpec(task=task)),
        )  # fmt: skip
        for row in office.store.add_tasks([large]):
            office.desk.board.add(row)
        sites = GridProgress(office.desk, lambda wall: wall)
        assert isinstance(await office.source("n1").claim(Claim(id="1")), Idle)
        assert (await granted(office.source("n1"), "2")).task.name != "large"
        (remark,) = sites.give_up_dropped()
        assert "large is given up: its seeds and settings are larger than a message" in remark
        assert office.store.count(office.run.stamp)[BoardState.DROPPED] == 1

    at_the_desk(tmp_path, scene)
