"""A manager that ends at any point of taking a result in, and strangers at its desk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.contract.desk_office import DeskOffice, filled_board, new_run
from tests.contract.task_offices import LEASE_SECONDS, HandClock
from tests.contract.test_task_source import Result, beat_of, brought, claimed, granted, settled

from headgate.control.catalog import Outcome
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.requests import DeskTerms
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.protocol import (
    Beat,
    Chunk,
    Claim,
    FileDigest,
    FileSize,
    Grant,
    Idle,
    Known,
    Lease,
    Put,
    ResultVerdict,
    TaskSource,
    Word,
)
from headgate.features.grid.scheduler.records import Changes, LeaseEnding
from headgate.model.errors import WorldFault
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection


class Managers:
    """One after another, over the same folder."""

    def __init__(self, folder: Path) -> None:
        self.clock = HandClock()
        self.run = new_run(folder, self.clock)
        self.catalog = Collection(folder).catalog
        self._opened = ExitStack()
        self.office: DeskOffice

    async def start(self) -> DeskOffice:
        self._opened.close()
        catalog = self._opened.enter_context(SqliteCatalog(self.catalog))
        self.office = DeskOffice(self.run, filled_board(catalog, self.run), self.clock)
        await self.office.desk.open()
        return self.office

    def end(self) -> None:
        self._opened.close()


def play(folder: Path, scene: Callable[[Managers], Awaitable[None]]) -> None:
    async def playing() -> None:
        managers = Managers(folder)
        try:
            await scene(managers)
        finally:
            managers.end()

    asyncio.run(playing())


class _Killed(WorldFault):
    pass


def _dies(*_: object) -> None:
    raise _Killed("killed")


@pytest.mark.parametrize("point", ["received", "renaming", "half renamed", "before commit"])
def test_a_manager_that_ends_while_it_stores_a_result_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        result = Result((await claimed(source, "a")).lease, "a", "whole")
        assert (await source.put(result.put)).word is Word.SEND
        assert all(await result.send(source))
        arrivals, store = office.desk.arrivals, office.store
        with monkeypatch.context() as patch:
            if point == "received":
                patch.setattr(type(office.desk.committing), "begin", _dies)
            elif point == "renaming":
                patch.setattr(type(arrivals), "move_in", _dies)
            elif point == "half renamed":
                whole = type(arrivals).move_in

                def half(self: UploadFiles, lease: Lease, files: Sequence[FileDigest]) -> None:
                    whole(self, lease, files[:1])
                    _dies()

                patch.setattr(type(arrivals), "move_in", half)
            else:
                save, calls = SqlBoard.save, []

                def second(self: SqlBoard, changes: object) -> None:
                    calls.append(1)
                    if len(calls) > 1:
                        _dies()
                    save(self, changes)  # type: ignore[arg-type]

                patch.setattr(SqlBoard, "save", second)
            (answer,) = await asyncio.gather(source.done(result.manifest), return_exceptions=True)
            assert not isinstance(answer, ResultVerdict) or answer.word is Word.RECEIVED
            assert store.winner(result.lease.task) == result.lease.epoch, "it counts already"
        office = await managers.start()
        assert (await settled(office.source("n1"), result.manifest)).word is Word.COMMITTED
        assert office.results() == {"a": result.files}
        assert not list(managers.run.spool.glob("arriving/*"))

    play(tmp_path, scene)


def test_a_result_that_a_power_cut_spoilt_is_brought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        result = Result((await claimed(source, "a")).lease, "a", "whole")
        await source.put(result.put)
        await result.send(source)
        with monkeypatch.context() as patch:
            patch.setattr(type(office.desk.committing), "begin", _dies)
            await asyncio.gather(source.done(result.manifest), return_exceptions=True)
        part = next(managers.run.spool.glob("arriving/*.1.part"))
        part.write_bytes(part.read_bytes()[:-1] + b"?")
        office = await managers.start()
        lease = office.store.lease(result.lease)
        assert lease is not None
        assert lease.how is LeaseEnding.SPOILT
        source = office.source("n1")
        assert await brought(source, result) is Word.COMMITTED
        assert office.results() == {"a": result.files}

    play(tmp_path, scene)


def test_leases_outlive_their_manager_by_one_more_time(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        grant = await claimed(office.source("n1"), "a")
        managers.clock.seconds += 1e5  # it was away for a day
        office = await managers.start()
        orders = await office.source("n1").beat(beat_of(grant))
        assert orders.good == (grant.lease,)

    play(tmp_path, scene)


def test_the_first_task_waits_until_nobody_has_come_for_a_while(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        office.desk.gathering.seconds = 5.0
        for node, later in (("n1", 3.0), ("n2", 3.0), ("n1", 1.5)):
            answer = await office.source(node).claim(Claim(id="first"))
            assert isinstance(answer, Idle)
            assert 0 < answer.wait <= 5.0
            assert answer.left
            managers.clock.seconds += later
        assert isinstance(await office.source("n1").claim(Claim(id="first")), Idle)
        managers.clock.seconds += 0.5
        assert isinstance(await office.source("n1").claim(Claim(id="first")), Grant)
        assert isinstance(await office.source("n3").claim(Claim(id="late")), Grant)

    play(tmp_path, scene)


def test_another_run_gets_the_hosts_of_one_that_was_left(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        left, claim = managers.run, "a claim"
        grant = await granted(office.source("n1"), claim)
        assert grant.task.name == "a"
        managers.run = Collection(tmp_path).new_run(datetime(2030, 1, 1, tzinfo=UTC))
        office = await managers.start()
        source = office.source("n1")
        assert (await granted(source, claim)).task.name == "b", "somebody may be at a's host"
        assert isinstance(await source.claim(Claim(id="another")), Idle)
        managers.clock.seconds += LEASE_SECONDS
        assert (await granted(source, "a third")).task.name == "a"
        result = Result(grant.lease, "a", "late")
        for verdict in (await source.put(result.put), await source.done(result.manifest)):
            assert (verdict.word, verdict.why) == (Word.WAIT, "the manager is at another run now")
        managers.run = left
        office = await managers.start()
        assert await brought(office.source("n1"), result) is Word.COMMITTED

    play(tmp_path, scene)


@pytest.mark.parametrize("how", ["finished", "abandoned", "long ago"])
def test_a_result_of_a_run_that_nobody_goes_on_with_is_not_kept(tmp_path: Path, how: str) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        result = Result((await claimed(office.source("n1"), "a")).lease, "a", "late")
        left = managers.run.stamp
        managers.run = Collection(tmp_path).new_run(datetime(2030, 1, 1, tzinfo=UTC))
        source = (await managers.start()).source("n1")
        assert (await source.put(result.put)).word is Word.WAIT
        if how == "long ago":
            managers.clock.seconds += 8 * 86_400.0
        else:
            with SqliteCatalog(managers.catalog) as catalog:
                catalog.end_run(left, 1.0, Outcome(how))
        assert (await source.put(result.put)).word is Word.SUPERSEDED

    play(tmp_path, scene)


def test_a_result_received_for_another_run_is_not_told_as_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        result = Result((await claimed(office.source("n1"), "a")).lease, "a", "early")
        with monkeypatch.context() as patch:
            patch.setattr(type(office.desk.committing), "begin", _dies)
            with pytest.raises(_Killed):
                await brought(office.source("n1"), result)
        left = managers.run
        managers.run = Collection(tmp_path).new_run(datetime(2030, 1, 1, tzinfo=UTC))
        office = await managers.start()
        assert (await office.source("n1").put(result.put)).word is Word.WAIT
        managers.run = left
        office = await managers.start()
        assert (await office.source("n1").put(result.put)).word is Word.COMMITTED

    play(tmp_path, scene)


def test_connect_times_are_taken_for_hosts_of_a_nodes_own_tasks(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        lies = {f"{number}.test": 0.1 for number in range(1000)}
        await source.beat(Beat(life=1, number=1, connects={**lies, "a.test": 0.2}))
        assert office.desk.connects == {}
        grant = await claimed(source, "a")
        managers.clock.seconds += 1.0
        office = await managers.start()
        source = office.source("n1")
        assert await brought(source, Result(grant.lease, "a")) is Word.COMMITTED
        await source.beat(Beat(life=1, number=2, connects={**lies, "a.test": 0.2}))
        assert office.desk.connects == {"a.test": {"n1": 0.2}}, (
            "it is done, and measured all the same"
        )

    play(tmp_path, scene)


@pytest.mark.parametrize("restart", [False, True])
def test_nothing_stays_of_a_result_that_was_never_completed(
    tmp_path: Path, *, restart: bool
) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        half = Result((await claimed(source, "a")).lease, "a", "half")
        await source.put(half.put)
        last = len(half.put.files) - 1
        begin = Chunk(lease=half.lease, file=last, offset=0)
        assert await source.chunk(begin, b"x")
        assert list(managers.run.spool.glob("arriving/*.part"))
        if restart:
            office = await managers.start()
        managers.clock.seconds += 2 * LEASE_SECONDS
        whole = Result((await claimed(office.source("n2"), "a")).lease, "a", "whole")
        assert await brought(office.source("n2"), whole) is Word.COMMITTED
        assert not list(managers.run.spool.glob("arriving/*.part"))
        assert not await office.source("n1").chunk(begin, b"x")
        assert office.results() == {"a": whole.files}

    play(tmp_path, scene)


def test_of_two_results_at_once_nothing_stays_of_the_loser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        slow, quick = office.source("n1"), office.source("n2")
        loser = Result((await claimed(slow, "a")).lease, "a", "loser")
        managers.clock.seconds += 2 * LEASE_SECONDS
        winner = Result((await claimed(quick, "a")).lease, "a", "winner")
        for source, result in ((slow, loser), (quick, winner)):
            await source.put(result.put)
            await result.send(source)
        checked, go_on = type(office.desk.arrivals).wrong, threading.Event()

        def wrong(self: UploadFiles, lease: Lease, files: Sequence[FileDigest]) -> tuple[int, ...]:
            found = checked(self, lease, files)
            if lease == loser.lease:
                go_on.wait(60.0)
            return found

        monkeypatch.setattr(type(office.desk.arrivals), "wrong", wrong)
        losing = asyncio.create_task(slow.done(loser.manifest))
        assert (await settled(quick, winner.manifest)).word is Word.COMMITTED
        go_on.set()
        assert (await losing).word is Word.SUPERSEDED
        assert not list(managers.run.spool.glob("arriving/*.part"))

    play(tmp_path, scene)


def test_once_the_catalog_fails_nobody_is_told_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        with monkeypatch.context() as patch:
            patch.setattr(SqlBoard, "save", _dies)
            with pytest.raises(WorldFault):
                await claimed(office.source("n1"), "a")
        with pytest.raises(WorldFault):
            await claimed(office.source("n1"), "a")
        assert office.desk.fault is not None
        office = await managers.start()
        assert (await claimed(office.source("n1"), "a")).lease.epoch == 1

    play(tmp_path, scene)


async def refused(source: TaskSource, put: Put, words: str) -> None:
    verdict = await source.put(put)
    assert verdict.word is Word.REFUSED
    assert words in verdict.why


def test_a_stranger_can_put_nothing_but_its_own_files(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        lease = (await claimed(source, "a")).lease

        def put(*names: str, size: int = 10) -> Put:
            return Put(lease=lease, files=tuple(FileSize(name=n, size=size) for n in names))

        for names in (
            ("b.journal",), ("a.journal", "b-00001.warc.gz"), ("a-00001.warc.gz",),
            ("a.journal", "a.journal"), ("a.journal", ".."), ("a.journal", "report.json"),
            ("small-sites-1.journal", "a.journal"), (),
        ):  # fmt: skip
            await refused(source, put(*names), "not the files of a visit")
        task = office.desk.board.tasks.get(lease.task)
        assert task is not None
        task.expected_bytes = 20e6
        await refused(source, put("a.journal", size=5 * 10**9), "far more than was expected")
        part = replace(await office.desk._given.spec(lease.task), site_bytes=300e6)
        assert office.desk._given.most_bytes(lease.task, part) == 3e9, "as of the whole site"

    play(tmp_path, scene)


def test_a_journal_that_is_none_is_refused_and_the_task_stays(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        grant = await claimed(source, "a")
        for site in ("b", 'a"x'):
            fake = _Fake(grant.lease, "a", site)
            assert (await source.put(fake.put)).word is Word.SEND
            assert all(await fake.send(source))
            verdict = await source.done(fake.manifest)
            assert verdict.word is Word.REFUSED
            assert "none that Headgate wrote" in verdict.why
        assert office.results() == {}
        assert await brought(source, Result(grant.lease, "a")) is Word.COMMITTED

    play(tmp_path, scene)


class _Fake(Result):
    """Whose journal is another site's, or nobody's."""

    @property
    def files(self) -> dict[str, bytes]:
        found = super().files
        found["a.journal"] = f'headgate journal 2 "{self.mark}"\n'.encode()
        return found


def test_a_task_done_again_for_an_audit_is_compared_and_not_kept(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        office.desk.committing.audit = 1.0
        office.store.invite("n2", "away", "", 1.0)
        office.desk.take_rows(office.store.nodes())
        office.desk.registry.stored["n2"] = 2  # a volunteer, which may hold three
        one, two = office.source("n1"), office.source("n2")
        result = Result((await claimed(one, "a")).lease, "a", "first")
        assert await brought(one, result) is Word.COMMITTED
        again = await claimed(two, "a")
        assert again.lease.task != result.lease.task
        other = Result(again.lease, "a", "second")
        assert await brought(two, other) is Word.COMMITTED
        assert office.results() == {"a": result.files}, "the first counts"
        (audit,) = office.store.audits(managers.run.stamp)
        assert (audit.first, audit.second, audit.differing) == ("n1", "n2", 0)

    play(tmp_path, scene)


def test_a_node_that_was_silent_while_managers_changed_is_heard_all_the_same(
    tmp_path: Path,
) -> None:
    """Three nodes lose a task one after another without dying: it is not given up for it."""

    async def scene(managers: Managers) -> None:
        grants = {}
        for name in ("n1", "n2", "n3"):
            office = await managers.start()
            source = office.source(name)
            await source.beat(beat_of())
            office.pass_time(2 * LEASE_SECONDS)
            grants[name] = await claimed(source, "a")
        office = await managers.start()
        number = grants["n1"].lease.task
        task = office.desk.board.tasks.get(number)
        assert task is not None
        assert task.lost == 2
        for name in ("n1", "n2"):
            await office.source(name).beat(beat_of(grants[name], number=2))
        assert task.lost == 0, "all that were lost are back"

    play(tmp_path, scene)


def test_after_a_restart_a_node_gets_no_more_than_it_had(tmp_path: Path) -> None:
    """Others may hold the rest, from the manager before, until a lease is over."""

    async def scene(managers: Managers) -> None:
        office = await managers.start()
        await office.source("n1").beat(beat_of())
        await office.desk.close()
        office = await managers.start()
        office.desk.terms = DeskTerms(lambda _: 100.0)
        first = await office.source("n1").beat(replace(beat_of(number=2), holds=30.0))
        second = await office.source("n2").beat(beat_of())
        assert (first.total, second.total) == (30.0, 0.0)
        office.pass_time(LEASE_SECONDS + 1.0)
        alone = await office.source("n1").beat(replace(beat_of(number=3), holds=30.0, heard=2))
        assert alone.total == 100.0

    play(tmp_path, scene)


def test_while_the_budget_rests_nobody_loses_a_task(tmp_path: Path) -> None:
    """A quota that is spent, or a timetable's hours: tasks stand still, and nobody is to blame."""

    async def scene(managers: Managers) -> None:
        office = await managers.start()
        office.desk.terms = DeskTerms(budget=lambda _: 0.0)
        source = office.source("n1")
        grant = await claimed(source, "a")
        for number in range(1, 40):
            office.pass_time(LEASE_SECONDS / 3)
            orders = await source.beat(beat_of(grant, number=number))
            assert orders.good == (grant.lease,)

    play(tmp_path, scene)


def test_while_a_result_is_being_stored_nobody_is_told_that_all_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may lead to new tasks: of a survey, or of a site that several nodes share."""
    told = threading.Event()
    save = SqlBoard.save

    def slow(self: SqlBoard, changes: Changes) -> None:
        save(self, changes)
        if any(row.how is LeaseEnding.COMMITTED for row in changes.leases.values()):
            assert told.wait(30)

    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source, other = office.source("n1"), office.source("n2")
        for site in ("a", "b"):
            assert await brought(source, Result((await claimed(source, site)).lease, site))
        last = Result((await claimed(source, "c")).lease, "c")
        monkeypatch.setattr(SqlBoard, "save", slow)
        delivery = asyncio.create_task(brought(source, last))
        board = office.desk.board
        while board.tasks.left:
            await asyncio.sleep(0.01)

        async def ask() -> None:
            answer = await other.claim(Claim(id="more"))
            assert isinstance(answer, Idle)
            assert answer.left or office.desk.committing.idle

        asking = asyncio.create_task(ask())
        await asyncio.sleep(0.1)
        told.set()
        await asking
        assert await delivery is Word.COMMITTED

    play(tmp_path, scene)


def test_results_that_take_long_to_check_keep_nobody_else_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as the event loop has threads: claims and heartbeats need these for the catalog."""
    checked = threading.Event()
    whole = UploadFiles.wrong

    def slow(self: UploadFiles, lease: Lease, files: Sequence[FileDigest]) -> tuple[int, ...]:
        assert checked.wait(30)
        return whole(self, lease, files)

    monkeypatch.setattr(UploadFiles, "wrong", slow)

    async def scene(managers: Managers) -> None:
        office = await managers.start()
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        source, delivery = office.source("n1"), list[asyncio.Task[Word]]()
        for site in ("a", "b"):
            result = Result((await claimed(source, site)).lease, site)
            delivery.append(asyncio.create_task(brought(source, result)))
        await asyncio.sleep(0.1)
        try:
            async with asyncio.timeout(10):
                await office.source("n2").beat(Beat(life=1, number=1))
        finally:
            checked.set()
        assert await asyncio.gather(*delivery) == [Word.COMMITTED] * 2

    play(tmp_path, scene)


def test_a_memory_that_arrives_slowly_keeps_its_lease(tmp_path: Path) -> None:
    async def scene(managers: Managers) -> None:
        office = await managers.start()
        source = office.source("n1")
        grant = await claimed(source, "a")
        for number in range(1, 20):
            office.pass_time(LEASE_SECONDS / 2)
            assert await source.known(Known(lease=grant.lease, offset=number, most=1))
            orders = await source.beat(beat_of(grant, number=number))
            assert orders.good == (grant.lease,)

    play(tmp_path, scene)
