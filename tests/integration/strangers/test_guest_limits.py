"""What a node never does on its owner's machine, wherever pages and managers lead it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.acceptance.small_web import SmallWeb, serving
from tests.contract.desk_office import DeskOffice, at_desk
from tests.contract.test_task_source import claimed
from tests.integration.grid.test_worker import LEASE_SECONDS, Scene, play, until

from headgate.features.grid.coordinator.fleet import GridFleet
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.protocol import (
    Beat,
    CannotDo,
    Grant,
    Inability,
    Lease,
    claim_answer,
    encoded,
)
from headgate.features.grid.scheduler.records import NewTask
from headgate.model.site import Requisites, Site
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.storage.journals.journal import Owner
from headgate.testing.memory_desk import MemoryDesk


@dataclass
class LeadingElsewhere(SmallWeb):
    """Each of its pages links to another host and embeds a picture that is there."""

    other: str = ""

    def body(self, path: str) -> bytes | None:
        body = super().body(path)
        if body is None or path == "/robots.txt":
            return body
        there = f'<a href="{self.other}0.html">there</a><img src="{self.other}1.png">'
        return there.encode() + body


@pytest.mark.parametrize(
    "site",
    [
        {"include": ("://localhost", "://127")},
        {"requisites": Requisites.PAGE},
    ],
)
def test_hosts_that_the_owner_does_not_allow_are_never_asked(
    tmp_path: Path, site: dict[str, object]
) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    web = LeadingElsewhere(5)
    with serving(SmallWeb(5)) as other, serving(web):
        web.other = f"http://localhost:{other.port}/"
        wide = Site("wide", seeds=(web.seed,), delay=Seconds(0.0), **site)  # type: ignore[arg-type]
        desk.add(Task(wide), "wide.test")
        scene = Scene(tmp_path, desk, rules=GuestRules(only_hosts=("127.0.0.1",)))

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.pages) == (1, 5)

        play(crawl)
        assert not other.asked


def test_a_node_that_may_not_reach_a_site_gives_it_back_and_says_why(tmp_path: Path) -> None:
    """That it found nothing is no result."""
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5)) as web:
        desk.add(Task(Site("intranet", seeds=(web.seed,), delay=Seconds(0.0))), "intranet.test")
        cannot = Scene(tmp_path, desk, allow_private=False)
        can = Scene(tmp_path, desk)

        async def crawl() -> None:
            first = asyncio.create_task(cannot.node("desktop", until_idle=False))
            await until(lambda: "desktop" in cannot.seen)
            await until(lambda: any("given back" in word for word in cannot.seen["desktop"].words))
            assert (await can.node("anna")).pages == 5
            first.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await first

        play(crawl)
        (word,) = [word for word in cannot.seen["desktop"].words if "given back" in word]
        assert word.startswith("intranet is given back: 127.0.0.1:")
        assert "--allow-private" in word


def test_a_visit_that_no_node_can_make_ends_with_the_reason(tmp_path: Path) -> None:
    """A keeper waits for nobody for ever; it tries again."""

    async def scene() -> None:
        async with at_desk(tmp_path / "collection") as office:
            assert isinstance(office, DeskOffice)

            def new_task(task: Task) -> NewTask:
                spec = encoded(TaskSpec(task=task))
                return NewTask(run=office.run.stamp, site=task.name, host="kept.test", spec=spec)

            async def take_in(_: Owner, __: Task | None) -> None: ...

            fleet, source = GridFleet(office.desk, new_task, take_in), office.source("n1")
            with fleet.at_work():
                fleet.start(Task(Site("kept", seeds=("http://kept.test/",))))
                await fleet.wait(0.0)
                grant = await claimed(source, "kept")
                cannot = CannotDo(lease=grant.lease, what=Inability.HOST, why="not allowed")
                await source.beat(Beat(life=1, number=1, back=(grant.lease,), cannot=(cannot,)))
                (ended,) = await fleet.wait(5.0)
            assert ended.reason.startswith("it needs a node whose --only-hosts has its hosts")
            assert ended.reason.endswith("n1 says: not allowed")

    play(scene)


@pytest.mark.parametrize(
    "stamp", ["", "../up", "/etc", "a/b", "..", "a\0b", "a\n", "x" * 65, "sites~1"]
)
def test_a_run_s_name_is_no_path(stamp: str) -> None:
    grant = Grant(lease=Lease(1, 1), seconds=60.0, task=Task(Site("a")), stamp=stamp)
    with pytest.raises(msgspec.MsgspecError):
        claim_answer(encoded(grant))


@pytest.mark.parametrize("stamp", ["2026-11-19T19-20-03", "2026-11-19T19-20-03-2", "kept"])
def test_names_that_runs_have_are_taken(stamp: str) -> None:
    grant = Grant(lease=Lease(1, 1), seconds=60.0, task=Task(Site("a")), stamp=stamp)
    assert claim_answer(encoded(grant)) == grant
