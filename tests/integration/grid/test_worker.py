"""A node at work on real pages: what it fetches, what it brings, what it does when it may not."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gzip
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvloop
from bench.cut_line import CutLine
from msgspec.structs import replace
from tests.acceptance.small_web import SmallWeb, serving

from headgate.engine.real_parts import real_parts
from headgate.engine.watcher import Watcher
from headgate.features.crawl.from_python import crawl
from headgate.features.grid.node.crawl import WorkerLeg
from headgate.features.grid.node.leased_tasks import LeasedTask
from headgate.features.grid.node.owner_limits import GuestRules, Hours, Idleness
from headgate.features.grid.node.worker import Worker, WorkerJob, work
from headgate.features.grid.protocol import (
    Known,
    Manifest,
    Put,
    Refused,
    ResultVerdict,
    SourceAway,
    Word,
)
from headgate.frontier.seen_urls import url_hashes
from headgate.model.budget import Budget
from headgate.model.errors import WorldFault
from headgate.model.grid import NodeStatus
from headgate.model.run_report import MAX_BYTES, OUTGROWN
from headgate.model.site import OnDeadline, Site
from headgate.model.task import KeptVisit, SitePart, Task
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory
from headgate.storage.part_seed_file import packed_handout
from headgate.testing.memory_desk import MemoryDesk

PATIENCE_SECONDS = 60.0
LEASE_SECONDS = 3.0


@dataclass
class LookingOn(Watcher[Worker, NodeStatus]):
    words: list[str] = field(default_factory=list)
    worker: Worker | None = None

    def on_messages(self, words: Sequence[str]) -> None:
        self.words += words

    def on_start(self, running: Worker) -> None:
        self.worker = running


@dataclass
class Scene:
    folder: Path
    desk: MemoryDesk
    bandwidth: float = float("inf")
    rules: GuestRules = field(default_factory=GuestRules)
    disk_bytes: float = 10e9
    lines: dict[str, CutLine] = field(default_factory=dict)
    seen: dict[str, LookingOn] = field(default_factory=dict)
    allow_private: bool = True

    async def node(self, name: str = "anna", *, until_idle: bool = True) -> NodeStatus:
        line = self.lines[name] = CutLine(self.desk, name)
        seen = self.seen[name] = LookingOn()
        budget = Budget(BytesPerSecond(self.bandwidth), 2)
        job = WorkerJob(
            name,
            self.folder / name,
            budget=budget,
            rules=self.rules,
            disk_bytes=self.disk_bytes,
            allow_private=self.allow_private,
            until_idle=until_idle,
        )
        return await work(job, real_parts(), line, seen)


def site_of(web: SmallWeb, name: str = "small", delay: float = 0.0) -> Site:
    return Site(name, seeds=(web.seed,), delay=Seconds(delay))


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await scene()

    uvloop.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.02)


def archived(files: dict[str, bytes] | object) -> list[str]:
    """URLs of the pages in a result's WARC files, in order."""
    assert isinstance(files, dict)
    found = []
    for name, data in files.items():
        if name.endswith(".warc.gz"):
            for record in gzip.decompress(data).split(b"WARC/1.1\r\n"):
                if b"WARC-Type: response" in record and b".html" in record:
                    head = record.split(b"\r\n\r\n", 1)[0].decode()
                    found += [
                        line.partition(": ")[2]
                        for line in head.split("\r\n")
                        if line.startswith("WARC-Target-URI")
                    ]
    return found


def test_tasks_are_crawled_brought_and_forgotten(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(40)) as one, serving(SmallWeb(25)) as two:
        desk.add(Task(site_of(one, "one")), "one.test")
        desk.add(Task(site_of(two, "two")), "two.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.lost, status.pages) == (2, 0, 65)

        play(crawl)
        first, second = desk.results().values()
        assert sorted(archived(first)) == sorted(one.urls)
        assert sorted(archived(second)) == sorted(two.urls)
        assert set(first) == {"one.journal", "one-00001.warc.gz"}
        assert max(one.asked.values()) == 1
    assert not list((tmp_path / "anna" / "leases").iterdir())


def test_a_node_that_was_killed_goes_on_with_what_it_has(tmp_path: Path) -> None:
    """Killed: it tells nobody, and starts again from its folder."""
    desk = MemoryDesk(time.monotonic, 30.0)
    with serving(SmallWeb(60, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def die() -> None:
            node = asyncio.create_task(scene.node())
            await until(lambda: len(web.served) > 20)
            scene.lines["anna"].cut = True
            node.cancel()
            with pytest.raises(asyncio.CancelledError):
                await node

        play(die)
        assert not any(desk.results())
        assert list((tmp_path / "anna" / "leases").iterdir())

        async def go_on() -> None:
            assert (await scene.node()).committed == 1

        play(go_on)
        (result,) = desk.results().values()
        assert sorted(archived(result)) == sorted(web.urls)
        assert sum(web.asked.values()) <= 60 + 1 + 12, "and few pages were asked for twice"


def test_without_an_answer_nothing_is_fetched_after_the_lease(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(400, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def cut_off() -> None:
            node = asyncio.create_task(scene.node())
            await until(lambda: len(web.served) > 10)
            line = scene.lines["anna"]
            line.cut, cut_at = True, time.monotonic()
            await asyncio.sleep(LEASE_SECONDS)
            await asyncio.sleep(0.2)  # what left before may still be heard of
            asked = sum(web.asked.values())
            await asyncio.sleep(LEASE_SECONDS)
            assert sum(web.asked.values()) == asked
            late = [at for at in web.asked_at if at > cut_at + LEASE_SECONDS]
            assert not late
            line.cut = False  # nobody else was there: it goes on where it stood
            status = await node
            assert (status.committed, status.lost) == (1, 0)

        play(cut_off)
        (result,) = desk.results().values()
        assert sorted(archived(result)) == sorted(web.urls)


def test_a_task_that_another_got_meanwhile_is_dropped(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(500, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def cut_off() -> None:
            anna = asyncio.create_task(scene.node("anna"))
            await until(lambda: len(web.served) > 10)
            scene.lines["anna"].cut = True
            await asyncio.sleep(LEASE_SECONDS)
            ben = asyncio.create_task(scene.node("ben"))
            await until(lambda: any(row.holder == "ben" for row in desk._rows.values()))
            scene.lines["anna"].cut = False
            assert (await ben).committed == 1
            status = await anna
            assert (status.committed, status.lost) == (0, 1)

        play(cut_off)
        (result,) = desk.results().values()
        assert sorted(archived(result)) == sorted(web.urls)
    assert not list((tmp_path / "anna" / "leases").iterdir())


def test_an_owner_who_stops_a_node_gives_its_tasks_back(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, 600.0)
    with serving(SmallWeb(120, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def leave() -> None:
            anna = asyncio.create_task(scene.node("anna"))
            await until(lambda: len(web.served) > 10)
            worker = scene.seen["anna"].worker
            assert worker is not None
            worker.stop()
            status = await anna
            assert (status.given_back, status.committed) == (1, 0)
            asked = sum(web.asked.values())
            await asyncio.sleep(0.3)
            assert sum(web.asked.values()) == asked
            assert (await scene.node("ben")).committed == 1

        play(leave)
    assert not list((tmp_path / "anna" / "leases").iterdir())


def test_private_addresses_are_out_of_reach_whatever_the_manager_says(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(10)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk, allow_private=False)

        async def crawl() -> None:
            node = asyncio.create_task(scene.node(until_idle=False))
            await until(lambda: "anna" in scene.seen)
            await until(lambda: any("--allow-private" in word for word in scene.seen["anna"].words))
            node.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await node

        play(crawl)
        assert not web.asked
        assert not any(desk.results()), "that it may not ask is no result"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"order": "evil.module:scorer"}, "needs code"),
        ({"focus_pages": ("/etc/passwd",)}, "needs files"),
        ({"seeds": ("file:///etc/passwd",)}, "not URLs"),
    ],
)
def test_a_task_that_asks_for_more_than_urls_is_not_taken(
    tmp_path: Path, change: dict[str, object], why: str
) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5)) as web:
        fields: dict[str, object] = {"name": "bad", "seeds": (web.seed,)} | change
        desk.add(Task(Site(**fields)), "bad.test")  # type: ignore[arg-type]
        desk.add(Task(site_of(web, "good")), "good.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            node = asyncio.create_task(scene.node(until_idle=False))
            await until(lambda: bool(desk.results()))
            worker = scene.seen["anna"].worker
            assert worker is not None
            worker.stop()
            await node
            assert any(why in words for words in scene.seen["anna"].words)
            assert not any(row.holder for row in desk._rows.values()), "it was given back"

        play(crawl)
        assert list(desk.results()) == [2]


def test_hosts_that_the_owner_does_not_allow_are_left_to_others(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk, rules=GuestRules(only_hosts=("*.example.org",)))

        async def crawl() -> None:
            node = asyncio.create_task(scene.node(until_idle=False))
            await until(lambda: "anna" in scene.seen and bool(scene.seen["anna"].words))
            scene.rules = GuestRules()
            assert (await scene.node("ben")).committed == 1
            node.cancel()

        play(crawl)


def test_out_of_its_hours_a_node_rests_and_gives_back(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, 600.0)
    busy = [False]
    ticks = [0, 0]

    def stat() -> str:
        ticks[0] += 90 if busy[0] else 0
        ticks[1] += 100
        return f"cpu {ticks[0]} 0 0 {ticks[1] - ticks[0]} 0 0 0 0 0 0\n"

    class Quick(Idleness):
        def is_idle(self, now: float) -> bool:
            return Idleness.is_idle(self, now * 1000)

    with serving(SmallWeb(200, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk, rules=GuestRules(idleness=Quick(stat)))

        async def crawl() -> None:
            node = asyncio.create_task(scene.node("anna"))
            await until(lambda: len(web.served) > 10)
            busy[0] = True
            await until(lambda: not any(row.holder for row in desk._rows.values()))
            await until(lambda: not list((tmp_path / "anna" / "leases").iterdir()))
            asked = sum(web.asked.values())
            await asyncio.sleep(0.5)
            assert sum(web.asked.values()) == asked
            busy[0] = False
            assert (await node).committed == 1

        play(crawl)
    assert Hours.parse("00:00-23:59")


def test_a_revoked_node_ends(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(200, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            node = asyncio.create_task(scene.node())
            await until(lambda: len(web.served) > 10)
            desk.revoked.add("anna")
            with pytest.raises(Refused, match="revoked"):
                await node

        play(crawl)
        assert not desk.results()


@dataclass
class RememberedVisit:
    """Five pages of a site to look at again, with its memory."""

    task: Task
    memory: bytes

    @classmethod
    def of(cls, web: SmallWeb, folder: Path) -> RememberedVisit:
        site = site_of(web)
        crawl([site], Budget(BytesPerSecond(float("inf"))), folder)
        web.asked.clear()
        web.served.clear()
        memory = Collection(folder).memory("small").read_bytes()
        kept = KeptVisit("2026-01-01T00-00-00", 1e6)
        return cls(Task(site, 2, tuple(sorted(web.urls)[:5]), kept), memory)

    def check(self, web: SmallWeb, result: Mapping[str, bytes]) -> None:
        assert {f"http://127.0.0.1:{web.port}{path}" for path in web.asked} >= set(
            self.task.asks or ()
        )
        assert sum(web.asked.values()) == 5 + 1, "those and robots.txt"
        assert sum(1 for _, size in web.served if size == 0) == 5, "none of them was sent again"
        assert set(result) == {"small~2.journal", "small~2-00001.warc.gz"}
        archive = gzip.decompress(result["small~2-00001.warc.gz"])
        assert archive.count(b"WARC-Type: revisit") == 5


def test_a_visit_asks_on_condition_by_the_memory_that_came_with_it(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(12)) as web:
        visit = RememberedVisit.of(web, tmp_path / "collection")
        desk.add(visit.task, "small.test", visit.memory)
        scene = Scene(tmp_path, desk)

        async def look() -> None:
            assert (await scene.node()).committed == 1

        play(look)
        visit.check(web, *desk.results().values())


class SlowMemoryDesk(MemoryDesk):
    """Its answers about what is known take a while, and meanwhile something else may happen."""

    meanwhile: Callable[[], object] | None = None

    async def known(self, node: str, known: Known) -> bytes:
        if self.meanwhile is not None:
            self.meanwhile()
        await asyncio.sleep(1.5)
        return await super().known(node, known)


def test_a_visit_begins_when_the_memory_has_come(tmp_path: Path) -> None:
    """Also beside another task, for which the node looks at what it may begin."""
    desk = SlowMemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(60, seconds_per_page=0.05)) as other, serving(SmallWeb(12)) as web:
        visit = RememberedVisit.of(web, tmp_path / "collection")
        desk.add(Task(site_of(other, "other")), "other.test")
        number = desk.add(visit.task, "small.test", visit.memory)
        scene = Scene(tmp_path, desk)

        async def look() -> None:
            assert (await scene.node()).committed == 2

        play(look)
        visit.check(web, desk.results()[number])


@pytest.mark.parametrize("power_cut", [False, True])
def test_a_node_that_is_killed_while_a_memory_comes_asks_for_it_again(
    tmp_path: Path, power_cut: bool
) -> None:
    """A power cut may leave its file, empty."""
    desk = SlowMemoryDesk(time.monotonic, 30.0)
    with serving(SmallWeb(12)) as web:
        visit = RememberedVisit.of(web, tmp_path / "collection")
        desk.add(visit.task, "small.test", visit.memory)
        scene = Scene(tmp_path, desk)

        async def die() -> None:
            node = asyncio.create_task(scene.node())
            desk.meanwhile = node.cancel
            with pytest.raises(asyncio.CancelledError):
                await node

        play(die)
        desk.meanwhile = None
        if power_cut:
            (lease,) = (tmp_path / "anna" / "leases").iterdir()
            Collection(lease).memory("small").touch()

        async def look() -> None:
            status = await scene.node()
            assert (status.committed, status.given_back) == (1, 0)

        play(look)
        visit.check(web, *desk.results().values())


def test_a_memory_that_came_damaged_is_left_out(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5)) as web:
        desk.add(Task(site_of(web)), "small.test", b"not a memory" * 1000)
        scene = Scene(tmp_path, desk)

        async def visit() -> None:
            assert (await scene.node()).pages == 5

        play(visit)
    assert any("damaged" in words for words in scene.seen["anna"].words)


def part_of(web: SmallWeb) -> Task:
    part = SitePart("small", round=2, hosts=((f"127.0.0.1:{web.port}",),))
    return Task(site_of(web, "small (part 3)"), 3, part=part)


def test_a_part_of_a_site_goes_on_where_others_left_it(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(40)) as web:
        here = web.seed.removesuffix("0.html")
        asked, met = [f"{here}{k}.html" for k in (3, 5)], [f"{here}{k}.html" for k in (0, 3, 5, 7)]
        desk.add(part_of(web), "one.test", handed=packed_handout({2: asked}, url_hashes(met)))
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            assert (await scene.node()).committed == 1

        play(crawl)
        (result,) = desk.results().values()
        assert set(result) == {"small~3.journal", "small~3-00001.warc.gz"}
        # Of 3 the pages 7, 8 and 17, 18, 35 .. 38; of 5 the pages 11, 12 and 23 .. 26; 0 is met.
        pages = {3, 8, 17, 18, 35, 36, 37, 38, 5, 11, 12, 23, 24, 25, 26}
        assert sorted(archived(result)) == sorted(f"{here}{k}.html" for k in pages)


def test_a_part_that_comes_damaged_is_left_to_others(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(4)) as web:
        task = desk.add(part_of(web), "one.test", handed=b"no handout")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            node = asyncio.create_task(scene.node(until_idle=False))
            await until(lambda: "anna" in scene.seen)
            seen = scene.seen["anna"]
            await until(lambda: any("damaged" in word for word in seen.words))
            await until(lambda: not desk.holder(task))
            worker = seen.worker
            assert worker is not None
            worker.stop()
            await node

        play(crawl)
        assert not web.asked
        assert not desk.results()


class StrictDesk(MemoryDesk):
    """Accepts no result of its first task."""

    async def put(self, node: str, put: Put) -> ResultVerdict:
        if put.lease.task == 1:
            return ResultVerdict(word=Word.REFUSED, why="no reason")
        return await super().put(node, put)


def test_after_a_refused_result_a_node_goes_on_with_others(tmp_path: Path) -> None:
    desk = StrictDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5)) as one, serving(SmallWeb(7)) as two:
        desk.add(Task(site_of(one, "one")), "one.test")
        desk.add(Task(site_of(two, "two")), "two.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            node = asyncio.create_task(scene.node(until_idle=False))
            await until(lambda: "anna" in scene.seen and 2 in desk.results())
            seen = scene.seen["anna"]
            await until(lambda: any("did not accept" in words for words in seen.words))
            assert seen.worker is not None
            seen.worker.stop()
            assert (await node).committed == 1

        play(crawl)


@pytest.mark.parametrize("by_files", [True, False])
def test_a_site_that_has_grown_far_beyond_its_bound_is_brought_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_files: bool
) -> None:
    """By the bytes on the line, or by those on the disk, whichever are more."""
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS, most_bytes=400_000)
    told = _reasons(monkeypatch)
    if by_files:
        monkeypatch.setattr(LeasedTask, "task", lambda work, _wall: work.folder.task(work.grant))
    with serving(SmallWeb(3000, random_bytes=900, seconds_per_page=0.05)) as web:
        desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            assert (await scene.node()).committed == 1

        play(crawl)
    (result,) = desk.results().values()
    assert 100_000 < sum(map(len, result.values())) < 400_000
    assert told == [OUTGROWN], "the user learns of the remedy"


def test_a_sites_own_limit_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS, most_bytes=400_000)
    told = _reasons(monkeypatch)
    with serving(SmallWeb(300, random_bytes=900)) as web:
        desk.add(Task(replace(site_of(web), max_bytes=Bytes(50_000))), "small.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            assert (await scene.node()).committed == 1

        play(crawl)
    assert told == [MAX_BYTES]


def _reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Why results ended, as told to the desk."""
    told, done = list[str](), MemoryDesk.done

    async def noting(self: MemoryDesk, node: str, manifest: Manifest) -> ResultVerdict:
        told.append(manifest.progress.reason)
        return await done(self, node, manifest)

    monkeypatch.setattr(MemoryDesk, "done", noting)
    return told


def test_a_task_whose_deadline_is_past_is_brought_without_pages(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5, held_after=0)) as web:
        site = Site("late", (web.seed,), deadline=Seconds(1e-3), on_deadline=OnDeadline.STOP)
        desk.add(Task(site), "small.test")
        scene = Scene(tmp_path, desk, bandwidth=1e6)

        async def crawl() -> None:
            assert (await scene.node()).committed == 1

        play(crawl)
        web.held_after = None
    (result,) = desk.results().values()
    assert list(result) == ["late.journal"]
    assert set(web.asked) <= {"/robots.txt"}


class DeafDesk(MemoryDesk):
    """Never answers what is known to the first who asks, and gives that task to nobody else."""

    async def known(self, node: str, known: Known) -> bytes:
        if known.lease.epoch == 1:
            self._rows[known.lease.task].holder = ""
            raise SourceAway("no answer")
        return await super().known(node, known)


def test_a_node_that_loses_a_task_while_its_memory_comes_claims_others(tmp_path: Path) -> None:
    desk = DeafDesk(time.monotonic, LEASE_SECONDS)
    with serving(SmallWeb(5)) as one, serving(SmallWeb(7)) as two:
        desk.add(Task(site_of(one, "one")), "one.test", b"not a memory")
        desk.add(Task(site_of(two, "two")), "two.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.lost) == (2, 1)

        play(crawl)


def test_a_disk_that_is_full_for_a_memory_does_not_end_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, faults = SiteMemory.checked, [OSError(errno.ENOSPC, "No space left on device")]

    def full_once(path: Path, site: str) -> SiteMemory:
        if faults:
            raise faults.pop()
        return checked(path, site)

    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    monkeypatch.setattr(SiteMemory, "checked", full_once)
    monkeypatch.setattr("headgate.features.grid.node.wakeups._FIRST_SECONDS", 0.1)
    with serving(SmallWeb(5)) as web:
        desk.add(Task(site_of(web)), "small.test", b"not a memory")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.given_back) == (1, 1)

        play(crawl)
    assert any("No space left" in words for words in scene.seen["anna"].words)


@pytest.mark.parametrize("fault", ["unreadable", "vanished", "shorter"])
def test_a_result_that_cannot_be_read_costs_its_task_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """While it is delivered; the task is given back, and crawled again."""
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    put, damaged = MemoryDesk.put, list[str]()

    async def damage_once(self: MemoryDesk, node: str, offer: Put) -> ResultVerdict:
        if not damaged:
            damaged.append(offer.files[-1].name)
            (archive,) = (tmp_path / "anna" / "leases").glob(f"*/runs/*/warc/{damaged[0]}")
            if fault == "unreadable":
                archive.unlink()
                archive.mkdir()  # reading it is an error of the disk, for root as well
            elif fault == "vanished":
                archive.unlink()
            else:
                archive.write_bytes(archive.read_bytes()[:-10])
        return await put(self, node, offer)

    monkeypatch.setattr(MemoryDesk, "put", damage_once)
    monkeypatch.setattr("headgate.features.grid.node.wakeups._FIRST_SECONDS", 0.1)
    with serving(SmallWeb(5)) as one, serving(SmallWeb(5)) as two:
        desk.add(Task(site_of(one, "one")), "one.test")
        desk.add(Task(site_of(two, "two")), "two.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.given_back) == (2, 1)

        play(crawl)
    told = [words for words in scene.seen["anna"].words if "cannot be delivered" in words]
    assert len(told) == (3 if fault == "unreadable" else 1), "what may pass is tried again"
    assert all(damaged[0] in words and "rests for" in words for words in told)
    assert ["given back" in words for words in told] == [False] * (len(told) - 1) + [True]
    assert len(desk.results()) == 2
    assert not list((tmp_path / "anna" / "leases").iterdir())


def test_a_result_that_is_wanted_later_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    put, asked = MemoryDesk.put, list[int]()

    async def later(self: MemoryDesk, node: str, offer: Put) -> ResultVerdict:
        asked.append(offer.lease.task)
        if offer.lease.task == 1 and len(self.results()) < 1:
            return ResultVerdict(word=Word.WAIT, wait=0.5, why="not yet")
        return await put(self, node, offer)

    monkeypatch.setattr(MemoryDesk, "put", later)
    with serving(SmallWeb(5)) as one, serving(SmallWeb(15, seconds_per_page=0.05)) as two:
        desk.add(Task(site_of(one, "one")), "one.test")
        desk.add(Task(site_of(two, "two")), "two.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            assert (await scene.node()).committed == 2

        play(crawl)
    assert asked.index(2) < len(asked) - 1
    assert scene.seen["anna"].words.count("one: the result waits here (not yet)") == 1


def test_a_task_lost_while_its_memory_is_written_does_not_end_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    checked = SiteMemory.checked

    def lost_meanwhile(path: Path, site: str) -> SiteMemory:
        if desk._rows[1].epoch == 1:
            desk._rows[1].holder = ""
            while path.parent.exists():
                time.sleep(0.02)
            raise FileNotFoundError(path)
        return checked(path, site)

    monkeypatch.setattr(SiteMemory, "checked", lost_meanwhile)
    with serving(SmallWeb(5)) as web:
        desk.add(Task(site_of(web)), "small.test", b"not a memory")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.lost) == (1, 1)

        play(crawl)


def test_a_node_that_rests_after_a_fault_claims_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_leg: WorkerLeg, _settings: object) -> None:
        raise WorldFault("a fault of this machine")

    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    monkeypatch.setattr(WorkerLeg, "run", fails)
    with serving(SmallWeb(5)) as web:
        task = desk.add(Task(site_of(web)), "small.test")
        scene = Scene(tmp_path, desk)

        async def crawl() -> None:
            node = asyncio.create_task(scene.node(until_idle=False))
            await until(lambda: "anna" in scene.seen and bool(scene.seen["anna"].words))
            await until(lambda: not desk.holder(task))
            await asyncio.sleep(3.0)
            assert not desk.holder(task)
            assert desk._rows[task].epoch == 1
            worker = scene.seen["anna"].worker
            assert worker is not None
            worker.stop()
            await node

        play(crawl)


def test_a_node_killed_in_a_crawl_without_its_damaged_memory_goes_on(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, 30.0)
    with serving(SmallWeb(60, seconds_per_page=0.02)) as web:
        desk.add(Task(site_of(web)), "small.test", b"not a memory")
        scene = Scene(tmp_path, desk)

        async def die() -> None:
            node = asyncio.create_task(scene.node())
            await until(lambda: len(web.served) > 20)
            scene.lines["anna"].cut = True
            node.cancel()
            with pytest.raises(asyncio.CancelledError):
                await node

        play(die)

        async def go_on() -> None:
            assert (await scene.node()).committed == 1

        play(go_on)
        assert sum(web.asked.values()) <= 60 + 1 + 12, "and few pages were asked for twice"


def test_a_node_that_may_take_none_of_many_tasks_asks_ever_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.features.grid.node.claims._MOST_REFUSED", 3)
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    for number in range(6):
        site = Site(f"s{number}", (f"http://h{number}.test/",))
        desk.add(Task(site), f"h{number}.test")
    scene = Scene(tmp_path, desk, rules=GuestRules(only_hosts=("*.example.org",)))
    monkeypatch.setattr("headgate.features.grid.node.claims._PER_REFUSAL_SECONDS", 0.1)

    async def crawl() -> None:
        node = asyncio.create_task(scene.node(until_idle=False))
        await asyncio.sleep(4.0)
        worker = scene.seen["anna"].worker
        assert worker is not None
        worker.stop()
        await node

    play(crawl)
    assert 4 <= len(desk._leases) <= 10
