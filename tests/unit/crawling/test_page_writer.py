"""Who asks while a commit is under way is part of the next one, with all others who did."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest

from headgate.crawling.page_writer import GroupCommit
from headgate.model.errors import WorldFault


class Disk:
    """Takes its time: until it is let go."""

    def __init__(self) -> None:
        self.commits: list[list[str]] = []
        self.let_go = threading.Semaphore(0)
        self.full = False

    def begin(self, stores: Sequence[str]) -> Callable[[], None]:
        self.commits.append(list(stores))
        return self._store

    def _store(self) -> None:
        assert self.let_go.acquire(timeout=30)
        if self.full:
            raise WorldFault("no space")


def test_those_who_come_during_a_commit_share_the_next() -> None:
    async def check() -> None:
        disk = Disk()
        group = GroupCommit(disk.begin)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            first = tasks.create_task(group.commit("a"))
            while not disk.commits:
                await asyncio.sleep(0.001)
            others = [tasks.create_task(group.commit(name)) for name in "abc"]
            disk.let_go.release()
            await first
            assert not any(other.done() for other in others), "they gave more since"
            disk.let_go.release()
        assert disk.commits == [["a"], ["a", "b", "c"]]

    asyncio.run(check())


def test_a_fault_is_everybodys_who_took_part_and_nobody_elses() -> None:
    async def check() -> None:
        disk = Disk()
        group = GroupCommit(disk.begin)
        disk.full = True
        disk.let_go.release()
        faults = await asyncio.gather(group.commit("a"), group.commit("b"), return_exceptions=True)
        assert [str(fault) for fault in faults] == ["no space", "no space"]
        disk.full = False
        disk.let_go.release()
        await group.commit("c")

    asyncio.run(check())


def test_whoever_leaves_does_not_take_the_others_along() -> None:
    async def check() -> None:
        disk = Disk()
        group = GroupCommit(disk.begin)
        async with asyncio.timeout(30):
            leaving = asyncio.create_task(group.commit("a"))
            staying = asyncio.create_task(group.commit("b"))
            await asyncio.sleep(0)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            disk.let_go.release()
            await staying
        assert disk.commits == [["a", "b"]]

    asyncio.run(check())
