"""Nodes that lie, beside an honest one: what they bring is refused, and the run ends well."""

from __future__ import annotations

import asyncio
import gzip
import secrets
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.contract.desk_office import DeskOffice, at_desk
from tests.contract.test_task_source import claimed, settled
from tests.unit.features.grid.trust.test_journal_check import (
    LIES,
    Change,
    crawled,
    links_with,
    told_otherwise,
)

from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.coordinator.coordinator import leaving_out_damaged
from headgate.features.grid.protocol import (
    CHUNK_BYTES,
    Beat,
    Chunk,
    Claim,
    FileDigest,
    FileSize,
    Grant,
    Held,
    Manifest,
    Put,
    ResultVerdict,
    TaskSource,
    Word,
    decoded,
    encoded,
)
from headgate.features.grid.scheduler.records import BoardState
from headgate.storage.collection import RunFolder
from headgate.storage.sealing import seal, write_tables


def at_the_desk(folder: Path, scene: Callable[[DeskOffice], Awaitable[None]]) -> None:
    async def play() -> None:
        async with at_desk(folder / "collection") as office:
            assert isinstance(office, DeskOffice)
            await scene(office)

    asyncio.run(play())


async def brings(
    source: TaskSource, grant: Grant, folder: Path, lie: Change | None, body: bytes = b"x" * 2000
) -> ResultVerdict:
    """A crawl of the task's seed, told otherwise by a liar."""
    was = crawled(folder, grant.task, body=body)
    if lie is not None:
        told_otherwise(was, lie)
    paths = [Path(was.journal), *(Path(path) for path, _ in was.files.values())]
    data = {path.name: path.read_bytes() for path in paths}
    sizes = tuple(FileSize(name=name, size=len(whole)) for name, whole in data.items())
    assert (await source.put(Put(lease=grant.lease, files=sizes))).word is Word.SEND
    for number, whole in enumerate(data.values()):
        for at in range(0, len(whole), CHUNK_BYTES):
            chunk = Chunk(lease=grant.lease, file=number, offset=at)
            assert await source.chunk(chunk, whole[at : at + CHUNK_BYTES])
    digests = tuple(
        FileDigest(name=name, size=len(whole), sha256=sha256(whole).hexdigest())
        for name, whole in data.items()
    )
    progress = Progress(grant.task.name, TaskState.DONE, pages=2)
    return await settled(source, Manifest(lease=grant.lease, files=digests, progress=progress))


@pytest.mark.parametrize(
    "lie",
    [
        "fewer rels than targets", "another visit", "the year 8307", "infinite", "a foreign seed",
        "a file", "rows three times", "an entry at an endless depth",
    ],
)  # fmt: skip
def test_a_lie_is_refused_and_an_honest_node_gets_the_task(tmp_path: Path, lie: str) -> None:
    async def scene(office: DeskOffice) -> None:
        grant = await claimed(office.source("n1"), "b")
        refused = await brings(office.source("n1"), grant, tmp_path / "lie", LIES[lie])
        assert refused.word is Word.REFUSED
        assert "none that Headgate wrote" in refused.why
        again = await claimed(office.source("n2"), "b")
        taken = await brings(office.source("n2"), again, tmp_path / "honest", None)
        assert taken.word is Word.COMMITTED
        assert seal(office.run) == []

    at_the_desk(tmp_path, scene)


def test_what_was_accepted_before_and_cannot_be_sealed_is_left_out(tmp_path: Path) -> None:
    run = RunFolder(tmp_path, "2026-11-19T00-00-00")
    told_otherwise(crawled(tmp_path), links_with(rels="a"))
    honest = crawled(tmp_path / "other")
    Path(honest.journal).rename(run.spool / "other.journal")

    def write() -> list[str]:
        write_tables(run)
        return []

    told = leaving_out_damaged(run, write)
    assert len(told) == 1
    assert told[0].startswith("docs: its result cannot be sealed and is left out")
    assert run.journals() == [run.spool / "other.journal"]


def test_reasons_are_cut_where_they_come_in() -> None:
    long = Progress("a", reason="r" * 90_000, given_up={"a.test": "w" * 90_000})
    held = Held(lease=(1, 1), progress=long)  # type: ignore[arg-type]
    told = decoded(encoded(msgspec.structs.replace(held)), Held).progress
    assert (len(told.reason), len(told.given_up["a.test"])) == (200, 200)


def volunteers(office: DeskOffice, *nodes: str) -> None:
    for node in nodes:
        row = office.desk.registry.heard(node, office.clock.now(), office.clock.wall())
        row.group = "volunteers"


async def tries(office: DeskOffice, node: str, times: int) -> list[Grant]:
    """What a node gets that claims and claims."""
    answers = [
        await office.source(node).claim(Claim(id=f"{node} {secrets.token_hex(4)}", slots=1000))
        for _ in range(times)
    ]
    return [answer for answer in answers if isinstance(answer, Grant)]


def test_a_node_holds_one_task_more_than_it_has_brought(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        volunteers(office, "n1", "n2")
        (first,) = await tries(office, "n1", 5)
        taken = await brings(office.source("n1"), first, tmp_path / "first", None)
        assert taken.word is Word.COMMITTED
        assert office.desk.registry.stored["n1"] == 1
        assert len(await tries(office, "n1", 5)) == 1, "the other two are at one host"

    at_the_desk(tmp_path, scene)


def test_what_it_has_brought_counts_after_a_restart(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        volunteers(office, "n1")
        (first,) = await tries(office, "n1", 1)
        await brings(office.source("n1"), first, tmp_path / "first", None)
        await office.desk.close()
        again = DeskOffice(office.run, office.store, office.clock)
        await again.desk.open()
        assert again.desk.registry.stored["n1"] == 1

    at_the_desk(tmp_path, scene)


def test_who_only_says_that_it_goes_on_loses_the_task_to_who_is_free(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        volunteers(office, "n1", "n2")
        own = await tries(office, "n3", 1)
        (held,) = await tries(office, "n1", 5)
        stopped: dict[str, int] = {}
        given: list[Grant] = []
        for turn in range(1, 200):
            office.pass_time(20.0)
            for node, grant in (("n1", held), ("n3", own[0])):
                told = Progress(
                    grant.task.name, TaskState.CRAWLING, fetches=turn, wire_bytes=turn, seen=turn
                )
                beat = Beat(life=1, number=turn, tasks=(Held(lease=grant.lease, progress=told),))
                orders = await office.source(node).beat(beat)
                if orders.stop and node not in stopped:
                    stopped[node] = turn
            given = given or await tries(office, "n2", 1)
        host = {"a": "a.test"}.get
        assert host(given[0].task.name) == host(held.task.name)
        assert 20 * stopped["n1"] == pytest.approx(10 * 60, abs=40)
        assert "n3" not in stopped, "a node of one's own is believed"

    at_the_desk(tmp_path, scene)


def test_who_made_pages_up_is_named_and_the_pages_of_an_own_node_take_their_place(
    tmp_path: Path,
) -> None:
    async def scene(office: DeskOffice) -> None:
        office.desk.committing.audit = 0.0
        office.store.invite("n1", "volunteers", "", 1.0)
        office.desk.take_rows(office.store.nodes())
        (grant,) = await tries(office, "n1", 3)
        made_up = b"made up by a liar" * 999
        taken = await brings(office.source("n1"), grant, tmp_path / "lie", None, made_up)
        assert taken.word is Word.COMMITTED, "in form it is right"
        again = await claimed(office.source("n2"), grant.task.name)
        assert again.lease.task != grant.lease.task
        honest = await brings(office.source("n2"), again, tmp_path / "honest", None)
        assert honest.word is Word.COMMITTED
        (audit,) = office.store.audits(office.run.stamp)
        assert (audit.first, audit.second, audit.differing) == ("n1", "n2", 2)
        (remark,) = office.desk.committing.take_remarks()
        assert "n1 is no longer believed" in remark
        revoked = {name for name, row in office.store.nodes().items() if row.revoked}
        assert revoked == {"n1"}
        archive = b"".join(gzip.decompress(path.read_bytes()) for path in office.run.warc.iterdir())
        assert made_up not in archive
        assert b"x" * 2000 in archive
        seal(office.run)

    at_the_desk(tmp_path, scene)


def test_results_of_one_s_own_nodes_are_not_fetched_again(tmp_path: Path) -> None:
    async def scene(office: DeskOffice) -> None:
        office.desk.committing.audit = 0.0
        grant = await claimed(office.source("n1"), "a")
        await brings(office.source("n1"), grant, tmp_path / "own", None)
        assert office.store.count(office.run.stamp).get(BoardState.READY) == 2

    at_the_desk(tmp_path, scene)
