"""What a node relies on wherever its tasks come from, and what it cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.contract.desk_office import at_desk, at_desk_over_nats
from tests.contract.task_offices import HANDED, LEASE_SECONDS, MEMORY, OFFICES, Office, OpenOffice

from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.protocol import (
    CHUNK_BYTES,
    KNOWN_BYTES,
    Beat,
    Chunk,
    Claim,
    FileDigest,
    FileSize,
    Grant,
    Held,
    Idle,
    Known,
    Lease,
    Manifest,
    Orders,
    Put,
    Refused,
    ResultVerdict,
    TaskSource,
    Word,
)


@pytest.fixture(params=[*OFFICES, at_desk, at_desk_over_nats, "desk on PostgreSQL"])
def open_office(request: pytest.FixtureRequest) -> OpenOffice:
    if request.param == "desk on PostgreSQL":
        return partial(at_desk, catalog_url=request.getfixturevalue("postgres").new_catalog())
    office: OpenOffice = request.param
    return office


def at(open_office: OpenOffice, folder: Path, scene: Callable[[Office], Awaitable[None]]) -> None:
    async def play() -> None:
        async with open_office(folder) as office:
            await scene(office)

    asyncio.run(play())


async def granted(source: TaskSource, id_: str) -> Grant:
    answer = await source.claim(Claim(id=id_, slots=2))
    assert isinstance(answer, Grant)
    return answer


async def claimed(source: TaskSource, site: str) -> Grant:
    """Of a site; whatever is given before it is held, too."""
    for number in range(9):
        grant = await granted(source, f"want-{site}-{number}")
        if grant.task.name == site:
            return grant
    raise AssertionError(f"{site} is never given")


def beat_of(*grants: Grant, number: int = 1, leaving: bool = False) -> Beat:
    held = tuple(
        Held(lease=grant.lease, progress=Progress(grant.task.name, TaskState.CRAWLING))
        for grant in grants
    )
    return Beat(life=1, number=number, tasks=held, leaving=leaving)


@dataclass(frozen=True)
class Result:
    """Journal and a WARC file of two chunks, as a node's own run leaves them."""

    lease: Lease
    site: str
    mark: str = ""

    @property
    def files(self) -> dict[str, bytes]:
        warc = (f"{self.mark} of {self.site} ".encode() * CHUNK_BYTES)[: CHUNK_BYTES + 1000]
        journal = f'headgate journal 2 "{self.site}"\n'.encode()
        return {f"{self.site}.journal": journal, f"{self.site}-00001.warc.gz": warc}

    @property
    def put(self) -> Put:
        sizes = (FileSize(name=name, size=len(data)) for name, data in self.files.items())
        return Put(lease=self.lease, files=tuple(sizes))

    @property
    def manifest(self) -> Manifest:
        digests = tuple(
            FileDigest(name=name, size=len(data), sha256=sha256(data).hexdigest())
            for name, data in self.files.items()
        )
        progress = Progress(self.site, TaskState.DONE, pages=2, payload_bytes=9, wire_bytes=12)
        return Manifest(lease=self.lease, files=digests, progress=progress)

    async def send(self, source: TaskSource) -> list[bool]:
        """All chunks, the last first: their order is nobody's business."""
        cuts = [
            (number, offset, data[offset : offset + CHUNK_BYTES])
            for number, data in enumerate(self.files.values())
            for offset in range(0, len(data), CHUNK_BYTES)
        ]
        return [
            await source.chunk(Chunk(lease=self.lease, file=number, offset=offset), data)
            for number, offset, data in reversed(cuts)
        ]


async def settled(source: TaskSource, manifest: Manifest) -> ResultVerdict:
    for _ in range(1000):
        verdict = await source.done(manifest)
        if verdict.word is not Word.RECEIVED:
            return verdict
        await asyncio.sleep(0.01)
    raise AssertionError("it stays received")


async def brought(source: TaskSource, result: Result) -> Word:
    assert (await source.put(result.put)).word is Word.SEND
    assert all(await result.send(source))
    return (await settled(source, result.manifest)).word


def test_each_task_is_given_to_one_node_and_a_host_is_visited_by_one(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        grants = [await granted(one, "1"), await granted(two, "2")]
        names = {grant.task.name for grant in grants}
        assert "a" in names
        assert len(names & {"b", "c"}) == 1
        for grant in grants:
            assert 0 < grant.seconds <= LEASE_SECONDS
            assert grant.task.site.seeds
            assert grant.stamp
        idle = await two.claim(Claim(id="3"))
        assert isinstance(idle, Idle)
        assert idle.left == 3
        assert idle.wait > 0

    at(open_office, tmp_path, scene)


def test_a_claim_asked_again_gives_the_same_task(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        first = await granted(source, "once")
        again = await granted(source, "once")
        assert (again.lease, again.task) == (first.lease, first.task)
        other = await granted(office.source("n2"), "once")
        assert other.lease.task != first.lease.task

    at(open_office, tmp_path, scene)


def test_beats_prolong_a_lease(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        grants = [await granted(one, "1"), await granted(one, "2")]
        for number in range(1, 6):
            office.pass_time(LEASE_SECONDS / 3)
            orders = await one.beat(beat_of(*grants, number=number))
            assert set(orders.good) == {grant.lease for grant in grants}
            assert not orders.stop
            assert 0 < orders.seconds <= LEASE_SECONDS
            assert isinstance(await two.claim(Claim(id="x")), Idle)

    at(open_office, tmp_path, scene)


def test_a_silent_node_loses_its_task_to_another(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        lost = await claimed(one, "a")
        office.pass_time(LEASE_SECONDS + 3)
        taken = await claimed(two, "a")
        assert taken.lease.task == lost.lease.task
        assert taken.lease.epoch > lost.lease.epoch
        orders = await one.beat(beat_of(lost))
        assert [stop.lease for stop in orders.stop] == [lost.lease]
        assert all(stop.why for stop in orders.stop)
        assert orders.good == ()

    at(open_office, tmp_path, scene)


def test_a_node_that_leaves_gives_its_task_back_at_once(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        given = await claimed(one, "a")
        orders = await one.beat(beat_of(given, leaving=True))
        assert given.lease not in orders.good
        assert (await claimed(two, "a")).lease.epoch > given.lease.epoch

    at(open_office, tmp_path, scene)


def test_a_task_given_back_goes_to_another_and_not_to_who_will_not_have_it(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        kept, given = await granted(one, "1"), await granted(one, "2")
        beat = replace(beat_of(kept, given), back=(given.lease,))
        assert (await one.beat(beat)).good == (kept.lease,)
        again = await one.claim(Claim(id="3", not_these=(given.lease.task,)))
        assert isinstance(again, Idle) or again.lease.task != given.lease.task
        if isinstance(again, Grant):
            await one.beat(replace(beat_of(kept, again, number=2), back=(again.lease,)))
        taken = await two.claim(Claim(id="x"))
        assert isinstance(taken, Grant)
        assert taken.task.site.seeds[0].startswith(given.task.site.seeds[0][:13])

    at(open_office, tmp_path, scene)


def test_the_sites_memory_comes_in_pieces(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        grant = await claimed(one, "a")
        assert grant.known_bytes == len(MEMORY)
        pieces: list[bytes] = []
        while piece := await one.known(Known(lease=grant.lease, offset=sum(map(len, pieces)))):
            pieces.append(piece)
        assert len(pieces) > 1
        assert b"".join(pieces) == MEMORY
        assert await two.known(Known(lease=grant.lease, offset=0)) == b""
        assert await one.known(Known(lease=grant.lease, offset=5, most=7)) == MEMORY[5:12]
        assert grant.handed_bytes == len(HANDED)
        handed = [
            await one.known(Known(lease=grant.lease, offset=offset, handed=True))
            for offset in range(0, len(HANDED) + 1, KNOWN_BYTES)
        ]
        assert b"".join(handed) == HANDED
        assert await two.known(Known(lease=grant.lease, offset=0, handed=True)) == b""

    at(open_office, tmp_path, scene)


def test_a_whole_result_is_stored_once(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        grant = await claimed(source, "a")
        result = Result(grant.lease, "a", "first")
        assert await brought(source, result) is Word.COMMITTED
        assert office.results() == {"a": result.files}
        # Whatever is asked again changes nothing.
        assert (await source.done(result.manifest)).word is Word.COMMITTED
        assert (await source.put(result.put)).word is Word.COMMITTED
        assert not any(await Result(grant.lease, "a", "other").send(source)) or (
            office.results() == {"a": result.files}
        )
        orders = await source.beat(beat_of(grant))
        assert [stop.lease for stop in orders.stop] == [grant.lease]

    at(open_office, tmp_path, scene)


def test_a_late_result_counts_if_it_is_the_first(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        late = await claimed(one, "a")
        office.pass_time(LEASE_SECONDS + 3)
        second = await claimed(two, "a")
        result = Result(late.lease, "a", "late")
        assert await brought(one, result) is Word.COMMITTED
        orders = await two.beat(beat_of(second))
        assert [stop.lease for stop in orders.stop] == [second.lease]
        other = Result(second.lease, "a", "second")
        assert (await two.put(other.put)).word is Word.SUPERSEDED
        assert (await settled(two, other.manifest)).word is Word.SUPERSEDED
        assert office.results() == {"a": result.files}

    at(open_office, tmp_path, scene)


def test_of_two_whole_results_the_first_counts(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        first = await claimed(one, "a")
        office.pass_time(LEASE_SECONDS + 3)
        second = await claimed(two, "a")
        loser, winner = Result(first.lease, "a", "1"), Result(second.lease, "a", "2")
        assert (await one.put(loser.put)).word is Word.SEND
        assert all(await loser.send(one))
        assert await brought(two, winner) is Word.COMMITTED
        assert (await settled(one, loser.manifest)).word is Word.SUPERSEDED
        assert office.results() == {"a": winner.files}

    at(open_office, tmp_path, scene)


def test_a_result_for_anothers_lease_is_never_taken(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        grant = await claimed(one, "a")
        for lease in (grant.lease, replace(grant.lease, epoch=99), Lease(4711, 1)):
            forged = Result(lease, "a", "forged")
            assert (await two.put(forged.put)).word is Word.NEVER_YOURS
            assert not any(await forged.send(two))
            assert (await settled(two, forged.manifest)).word is Word.NEVER_YOURS
        assert office.results() == {}

    at(open_office, tmp_path, scene)


def test_chunks_nobody_waits_for_are_not_taken(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        grant = await claimed(source, "a")
        result = Result(grant.lease, "a")
        assert not any(await result.send(source))
        assert (await source.put(result.put)).word is Word.SEND
        size = len(result.files["a.journal"])
        beyond = Chunk(lease=grant.lease, file=0, offset=size - 1)
        assert not await source.chunk(beyond, b"too long")
        assert not await source.chunk(Chunk(lease=grant.lease, file=2, offset=0), b"no such file")
        assert await source.chunk(beyond, b"k")

    at(open_office, tmp_path, scene)


def test_what_came_wrong_is_asked_for_again(open_office: OpenOffice, tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        grant = await claimed(source, "a")
        result = Result(grant.lease, "a", "good")
        assert (await source.put(result.put)).word is Word.SEND
        assert all(await result.send(source))
        assert await source.chunk(Chunk(lease=grant.lease, file=1, offset=5), b"flipped")
        verdict = await settled(source, result.manifest)
        assert (verdict.word, verdict.files) == (Word.RESEND, (1,))
        assert office.results() == {}
        assert await brought(source, result) is Word.COMMITTED
        assert office.results() == {"a": result.files}

    at(open_office, tmp_path, scene)


def test_a_manifest_without_its_chunks_is_not_believed(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        result = Result((await claimed(source, "a")).lease, "a")
        assert (await settled(source, result.manifest)).word is Word.RESEND
        assert (await source.put(result.put)).word is Word.SEND
        assert (await settled(source, result.manifest)).word is Word.RESEND
        assert office.results() == {}

    at(open_office, tmp_path, scene)


def test_a_refused_result_ends_its_lease_and_not_its_node(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        one, two = office.source("n1"), office.source("n2")
        grant = await claimed(one, "a")
        verdict = await one.put(Put(lease=grant.lease, files=()))
        assert verdict.word is Word.REFUSED
        assert verdict.why
        orders = await one.beat(beat_of(grant))
        assert [stop.lease for stop in orders.stop] == [grant.lease]
        assert (await claimed(two, "a")).lease.epoch > grant.lease.epoch

    at(open_office, tmp_path, scene)


def test_with_a_full_disk_nodes_wait_and_keep_theirs(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        result = Result((await claimed(source, "a")).lease, "a")
        office.fill_disk()
        verdict = await source.put(result.put)
        assert verdict.word is Word.WAIT
        assert verdict.wait > 0
        assert not any(await result.send(source))

    at(open_office, tmp_path, scene)


def test_a_revoked_node_and_another_version_are_refused(
    open_office: OpenOffice, tmp_path: Path
) -> None:
    async def scene(office: Office) -> None:
        source = office.source("n1")
        grant = await claimed(source, "a")
        with pytest.raises(Refused, match="version"):
            await source.claim(Claim(id="new", version=99))
        office.revoke("n1")
        with pytest.raises(Refused, match="revoked"):
            await source.claim(Claim(id="next"))
        with pytest.raises(Refused, match="revoked"):
            await source.beat(beat_of(grant))
        with pytest.raises(Refused, match="revoked"):
            await source.chunk(Chunk(lease=grant.lease, file=0, offset=0), b"x")
        assert isinstance(await office.source("n2").beat(Beat(life=1, number=1)), Orders)

    at(open_office, tmp_path, scene)
