"""Nodes that lie, beside an honest one: what they bring is refused, and the run ends well."""

from __future__ import annotations

import asyncio
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
    Chunk,
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
from headgate.storage.collection import RunFolder
from headgate.storage.sealing import seal, write_tables


def at_the_desk(folder: Path, scene: Callable[[DeskOffice], Awaitable[None]]) -> None:
    async def play() -> None:
        async with at_desk(folder / "collection") as office:
            assert isinstance(office, DeskOffice)
            await scene(office)

    asyncio.run(play())


async def brings(
    source: TaskSource, grant: Grant, folder: Path, lie: Change | None
) -> ResultVerdict:
    """A crawl of the task's seed, told otherwise by a liar."""
    was = crawled(folder, grant.task)
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
