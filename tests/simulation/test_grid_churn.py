"""Nodes that come and go, and one that sleeps, in virtual time; all else is the product's own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.grid_churn import BEGIN, LEASE_SECONDS, Availability, Churn, Manager, Nobody, Way, Web

from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.node.worker import WorkerJob, work
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.grid import Mode, NodeStatus
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import UNLIMITED, Seconds
from headgate.testing.memory_desk import MemoryDesk
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually


def test_every_task_is_done_though_nodes_come_and_go(tmp_path: Path) -> None:
    """Far worse than desktops: a node is up for two minutes, and a task takes longer."""
    minutes = Availability((0.8, 0.025), (0.8, 0.01))
    churn = Churn(tmp_path, 3, 24 * 3600.0, minutes, seed=2, tasks=10, pages=(20, 60))
    found = churn.play()
    assert found.done == found.tasks == 10
    assert found.departures >= 5, "or nothing was tried"
    assert found.without_lease == 0, "so no host was asked by two nodes at once"
    assert found.pages <= found.fetches


def test_how_often_nodes_look_at_themselves_changes_nothing_that_is_done(tmp_path: Path) -> None:
    """So simulated months need not wake each node twice a second."""
    quarters = Availability((0.8, 0.3), (0.8, 0.05))

    def played(look_seconds: float) -> tuple[int, ...]:
        folder = tmp_path / f"{look_seconds:g}"
        churn = Churn(
            folder, 3, 24 * 3600.0, quarters, seed=2, tasks=12, pages=(5, 20), delay_seconds=30.0,
            look_seconds=look_seconds,
        )  # fmt: skip
        found = churn.play()
        assert found.departures
        assert found.without_lease == 0
        return found.done, found.fetches, found.pages, found.leases, int(found.end_seconds)

    assert played(600.0) == played(1.0)


def test_a_node_with_nothing_to_do_ends_at_once_however_seldom_it_looks(tmp_path: Path) -> None:
    async def play(loop: VirtualLoop) -> float:
        clock = VirtualClock(loop, BEGIN)
        job = WorkerJob("anna", tmp_path, Budget(UNLIMITED, 1), GuestRules())
        parts = virtual_parts(clock, lambda _request, _now: Answer(404), Line())
        way = Way(MemoryDesk(clock.now, LEASE_SECONDS), "anna")
        node = asyncio.create_task(work(job, parts, way, Nobody(), look_seconds=600.0))
        await asyncio.sleep(1000.0)
        node.cancel()
        await asyncio.wait([node])
        return loop.time()

    assert run_virtually(play) < 1010.0


def test_a_machine_that_slept_asks_for_nothing_before_it_was_heard(tmp_path: Path) -> None:
    """When it wakes, all timers are due at once; its lease is long over."""

    async def play(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, BEGIN)
        desk = MemoryDesk(clock.now, LEASE_SECONDS)
        web = Web({"a.test": 600}, desk)
        desk.add(Task(Site("a", ("http://a.test/",), delay=Seconds(0.05))), "a.test")
        asked: list[float] = []

        def answering(request: FetchRequest, now: float) -> Answer:
            asked.append(clock.now())
            return web.answer("anna", request, now)

        job = WorkerJob("anna", tmp_path, Budget(UNLIMITED, 1), GuestRules(), until_idle=True)
        way = Way(desk, "anna")
        parts = virtual_parts(clock, answering, Line())
        node = asyncio.create_task(work(job, parts, way, Nobody()))
        await asyncio.sleep(10.0)
        before = len(asked)
        assert before > 20
        way.cut = True
        clock.sleep(3600.0)
        woke = clock.now()
        await asyncio.sleep(30.0)
        assert not [at for at in asked if at >= woke]
        way.cut = False  # nobody else wanted the task: it goes on
        assert (await node).committed == 1
        assert len(asked) > before
        assert web.without_lease == 0

    run_virtually(play)


@pytest.mark.parametrize("lease", [2.0, 10.0, 30.0])
@pytest.mark.parametrize("comes_at", [1.0, 4.9])
def test_the_task_of_a_node_that_is_cut_off_runs_elsewhere_soon_and_one_result_counts(
    tmp_path: Path, lease: float, comes_at: float
) -> None:
    """Also if whoever waits for tasks asked just before the lease ended."""
    cut_at = 20.2

    async def play(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, BEGIN)
        asked: dict[str, list[float]] = {"anna": [], "ben": []}
        with Manager.of(
            tmp_path / "manager", clock, {"a.test": 80}, 1.0, Mode.PULL, lease
        ) as manager:
            await manager.desk.open()
            web = Web({"a.test": 80}, manager)
            ways = {name: Way(manager.desk, name) for name in asked}

            def living(name: str) -> asyncio.Task[NodeStatus]:
                def answering(request: FetchRequest, now: float) -> Answer:
                    asked[name].append(clock.now())
                    return web.answer(name, request, now)

                job = WorkerJob(
                    name, tmp_path / name, Budget(UNLIMITED, 1), GuestRules(),
                    allow_private=True, until_idle=True,
                )  # fmt: skip
                parts = virtual_parts(clock, answering, Line())
                return asyncio.create_task(work(job, parts, ways[name], Nobody()))

            anna = living("anna")
            await asyncio.sleep(comes_at)
            ben = living("ben")
            await asyncio.sleep(cut_at - clock.now())
            assert asked["anna"]
            assert not asked["ben"]
            ways["anna"].cut = True
            await asyncio.sleep(3 * lease)
            ways["anna"].cut = False
            done = [await anna, await ben]
            assert asked["ben"][0] <= cut_at + lease + 3.0
            assert max(asked["anna"]) < asked["ben"][0]
            assert [status.committed for status in done] == [0, 1]
            assert len(manager.store.done(manager.run)) == 1
            assert web.without_lease == 0

    run_virtually(play)


def test_a_clock_on_the_wall_that_is_a_year_wrong_does_nothing(tmp_path: Path) -> None:
    async def play(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, BEGIN)
        desk = MemoryDesk(clock.now, LEASE_SECONDS)
        web = Web({"a.test": 60}, desk)
        desk.add(Task(Site("a", ("http://a.test/",), delay=Seconds(2.0))), "a.test")
        job = WorkerJob("anna", tmp_path, Budget(UNLIMITED, 1), GuestRules(), until_idle=True)

        def answering(request: FetchRequest, now: float) -> Answer:
            return web.answer("anna", request, now)

        way, parts = Way(desk, "anna"), virtual_parts(clock, answering, Line())
        node = asyncio.create_task(work(job, parts, way, Nobody()))
        for days in (-365, 730, -365):
            await asyncio.sleep(30.0)
            clock.set_wall(86_400.0 * days)
        status = await node
        assert (status.committed, status.lost) == (1, 0)
        assert max(web.asked.values()) == 1

    run_virtually(play)
