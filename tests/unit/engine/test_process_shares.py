"""How the budget and the sites are divided among processes, and what they told is added up."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import SetRates, SetTotal, StopSite
from headgate.crawling.progress import HANDED_OVER, Progress, TaskState
from headgate.engine.clock import SystemClock
from headgate.engine.process_messages import Close, Hello, News, Start, UseCores, Word, version
from headgate.engine.processes import ProcessFleet
from headgate.engine.workers import RunningTask, WorkerProcess
from headgate.model.errors import WorldFault
from headgate.model.run_report import PROCESS_DIED
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Seconds

HELLO = Hello(version())
TALLY = {"192.0.2.1": ServerTally({"x"}, 2, 20)}
BYTES_LEFT = {"a": 900.0, "b": 500.0, "c": 300.0, "d": 100.0}


@dataclass
class Heard:
    """Stands for the stream to a process."""

    orders: list[object] = field(default_factory=list)

    def send(self, order: object) -> None:
        self.orders.append(order)

    @property
    def total(self) -> float:
        return [order.rate for order in self.orders if isinstance(order, SetTotal)][-1]

    @property
    def cores(self) -> list[int]:
        return [order.count for order in self.orders if isinstance(order, UseCores)]

    @property
    def begun(self) -> list[str]:
        return [order.task.name for order in self.orders if isinstance(order, Start)]


class Speaking(Heard):
    """One that says these words and dies; None: it lives on."""

    def __init__(self, words: Sequence[Word | None]) -> None:
        super().__init__()
        self.speak = [*words]
        self.over = asyncio.Event()

    async def receive(self) -> Word | None:
        await asyncio.sleep(0)
        if not self.speak:
            self.over.set()
            return None
        word = self.speak.pop(0)
        if word is None:
            await asyncio.sleep(60)
        return word


async def _nobody_dies(worker: WorkerProcess) -> None:
    raise AssertionError(worker)


def divided(
    play: Callable[[ProcessFleet, list[WorkerProcess]], None], cores: int = 1
) -> list[Heard]:
    heard = [Heard(), Heard()]

    async def run() -> None:
        workers = [WorkerProcess(None, stream) for stream in heard]  # type: ignore[arg-type]
        fleet = ProcessFleet(workers, BYTES_LEFT.__getitem__, _nobody_dies, SystemClock(), cores)
        play(fleet, workers)
        await fleet.wait(0.0)

    asyncio.run(run())
    return heard


def begin(fleet: ProcessFleet, rates: Mapping[str, float]) -> None:
    for name in rates:
        fleet.start(Task(Site(name)))
    fleet.set_rates(rates)


def test_sites_go_where_the_least_is_left_to_do() -> None:
    """Of those started together the largest goes first, in whatever order they were."""
    rates = dict.fromkeys(reversed(BYTES_LEFT), 10.0)
    one, two = divided(lambda fleet, _: begin(fleet, rates))
    assert (one.begun, two.begun) == (["a"], ["b", "c", "d"]), "900 here, 500 + 300 + 100 there"


def test_the_total_is_divided_by_the_rates_of_each_process() -> None:
    def play(fleet: ProcessFleet, _: list[WorkerProcess]) -> None:
        fleet.set_total(1000.0)
        begin(fleet, {"a": 60.0, "b": 30.0, "c": 10.0})

    one, two = divided(play)
    assert (one.total, two.total) == (600.0, 400.0)


def test_without_rates_it_is_divided_by_sites_and_nobody_gets_what_nobody_uses() -> None:
    def play(fleet: ProcessFleet, _: list[WorkerProcess]) -> None:
        fleet.set_total(900.0)
        begin(fleet, dict.fromkeys(("a", "b", "c"), math.inf))

    one, two = divided(play)
    assert (one.total, two.total) == (300.0, 600.0)

    def play_one(fleet: ProcessFleet, _: list[WorkerProcess]) -> None:
        fleet.set_total(90.0)
        begin(fleet, {"a": 1.0})

    idle = divided(play_one)
    assert [worker.total for worker in idle] == [90.0, 0.0]


def test_a_process_whose_sites_are_done_leaves_its_core_to_the_other() -> None:
    def play(fleet: ProcessFleet, workers: list[WorkerProcess]) -> None:
        begin(fleet, {"a": 60.0, "b": 40.0})
        assert [worker.cores for worker in workers] == [1, 1]
        fleet._take(workers[1], News(ended=[Progress("b", state=TaskState.DONE)]))

    one, two = divided(play, cores=2)
    assert (one.cores, two.cores) == ([2], [])


def test_where_there_are_more_cores_each_process_has_its_part() -> None:
    one, two = divided(lambda fleet, _: begin(fleet, {"a": 60.0, "b": 40.0}), cores=5)
    assert (one.cores, two.cores) == ([2], [2])


class Busy:
    """Two processes: the second has come to its end, and the first would take seconds more."""

    def __init__(self) -> None:
        self.streams = [Speaking([None]), Speaking([None])]
        self.workers = [WorkerProcess(None, stream) for stream in self.streams]  # type: ignore[arg-type]
        self.fleet = ProcessFleet(
            self.workers,
            BYTES_LEFT.__getitem__,
            replace=self._replaced,
            clock=self,
            cores=2,
            may_move=lambda _: True,
        )
        self.reborn: Speaking | None = None
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now

    async def _replaced(self, worker: WorkerProcess) -> None:
        self.reborn = Speaking([HELLO, None])
        worker.stream = self.reborn  # type: ignore[assignment]

    async def begin(self) -> None:
        """Until "a" is asked to go where "c" was."""
        one, _ = self.workers
        self.fleet.set_total(1000.0)
        begin(self.fleet, {"a": 30.0})
        begin(self.fleet, {"c": 20.0})
        one.sites.add("b")  # dealt out before anybody knew how large it is
        self.fleet._running["b"] = RunningTask(Task(Site("b")), one, 0.0, 50.0)
        for second in range(3):
            self._now = float(second)
            known = [Progress(site, TaskState.CRAWLING, started=0.5) for site in "ab"]
            self.fleet._take(one, News(known, [], {}, 100 * second, 1.0 * second))
        self.tell(1, "c", "")
        assert [progress.site for progress in await self.fleet.wait(0.0)] == ["c"]
        await self.fleet.wait(0.0)
        assert StopSite("a", HANDED_OVER) in self.streams[0].orders

    def tell(self, worker: int, site: str, reason: str) -> None:
        """Of a site's end."""
        ended = Progress(
            site, TaskState.STOPPED, started=0.5, ended=9.0, reason=reason,
            wire_bytes=5000, earlier_wire_bytes=1000,
        )  # fmt: skip
        self.fleet._take(self.workers[worker], News([], [ended], {}, 300, 3.0))


def test_a_site_goes_from_a_busy_process_to_one_that_has_nothing_to_do() -> None:
    """With its rate, and counted as if nothing had happened."""

    async def play() -> None:
        busy = Busy()
        await busy.begin()
        source, target = busy.streams
        assert source.cores == [], "somebody else will have the core"
        assert target.begun == ["c"]
        busy.tell(0, "a", HANDED_OVER)
        assert target.begun == ["c", "a"]
        assert SetRates({"a": 30.0}) in target.orders
        assert (source.total, target.total) == (625.0, 375.0)
        (known,) = [one for one in busy.fleet.progress() if one.site == "a"]
        assert (known.state, known.ended, known.wire_bytes) == (TaskState.CRAWLING, None, 5000)
        came = Progress("a", started=9.1, wire_bytes=4900, earlier_wire_bytes=4800)
        busy.fleet._take(busy.workers[1], News([came], [], {}, 0))
        (known,) = [one for one in busy.fleet.progress() if one.site == "a"]
        assert (known.wire_bytes, known.earlier_wire_bytes) == (5100, 1000)
        assert (known.started, known.restarts) == (0.5, 0)
        assert not await busy.fleet.wait(0.0), "it has not ended"

    asyncio.run(play())


def test_a_site_that_ended_before_it_could_be_handed_over_has_ended() -> None:
    async def play() -> None:
        busy = Busy()
        await busy.begin()
        busy.tell(0, "a", "finished")
        (ended,) = await busy.fleet.wait(0.0)
        assert (ended.site, ended.reason) == ("a", "finished")
        assert busy.streams[1].begun == ["c"]

    asyncio.run(play())


def test_a_stop_is_heard_wherever_the_site_is() -> None:
    async def play() -> None:
        busy = Busy()
        await busy.begin()
        busy.fleet.stop("a", "deadline")
        busy.tell(0, "a", HANDED_OVER)
        assert busy.streams[1].orders.count(StopSite("a", "deadline")) == 1

    asyncio.run(play())


def test_a_site_is_not_handed_over_once_all_is_closed() -> None:
    async def play() -> None:
        busy = Busy()
        await busy.begin()
        busy.fleet._closing = True
        busy.tell(0, "a", HANDED_OVER)
        (ended,) = await busy.fleet.wait(0.0)
        assert (ended.reason, busy.streams[1].begun) == ("interrupted", ["c"])

    asyncio.run(play())


def test_a_site_stays_where_the_process_died_that_should_have_handed_it_over() -> None:
    async def play() -> None:
        busy = Busy()
        await busy.begin()
        await busy.fleet._revive(busy.workers[0])
        assert busy.reborn is not None
        assert busy.reborn.begun == ["a", "b"]
        assert busy.streams[1].begun == ["c"]

    asyncio.run(play())


def test_a_site_that_ended_leaves_its_share_to_others_and_hears_no_more() -> None:
    def play(fleet: ProcessFleet, workers: list[WorkerProcess]) -> None:
        fleet.set_total(1000.0)
        begin(fleet, {"a": 60.0, "b": 40.0})
        fleet._take(workers[0], News([], [Progress("a")], {}, 5))
        fleet.set_total(1000.0)
        fleet.stop("a", "late")
        fleet.stop("b", "late")
        assert fleet.carried() == 5

    one, two = divided(play)
    assert (one.total, two.total) == (0.0, 1000.0)
    assert not any(isinstance(order, StopSite) for order in one.orders)
    assert any(isinstance(order, StopSite) for order in two.orders)


def test_what_two_processes_asked_of_one_server_is_added_up_and_only_once() -> None:
    def play(fleet: ProcessFleet, workers: list[WorkerProcess]) -> None:
        for requests in (2, 3):
            tally = ServerTally({"x"}, requests, 10 * requests)
            fleet._take(workers[0], News([], [], {"192.0.2.1": tally}, 0))
        fleet._take(workers[1], News([], [], {"192.0.2.1": ServerTally({"y"}, 4, 40)}, 0))
        together = fleet.servers()["192.0.2.1"]
        assert (together.hosts, together.requests, together.bytes) == ({"x", "y"}, 7, 70)

    divided(play)


@dataclass
class Mortal:
    """One process, which takes the sites "a", crawled, and "b", parked, each time it dies."""

    seconds: float = 0.0
    reborn: Heard = field(default_factory=Heard)

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return self.seconds

    async def die(self, *, times: int, seconds_between: float) -> ProcessFleet:
        worker = WorkerProcess(None, Heard())  # type: ignore[arg-type]
        fleet = ProcessFleet([worker], BYTES_LEFT.__getitem__, self._replaced, self)
        begin(fleet, {"a": 10.0, "b": 0.0})
        for _ in range(times):
            self.seconds += seconds_between
            await fleet._revive(worker)
        return fleet

    async def _replaced(self, worker: WorkerProcess) -> None:
        self.reborn = Heard()
        worker.stream = self.reborn  # type: ignore[assignment]


def test_a_site_that_kills_its_process_each_time_is_given_up_and_one_that_is_parked_is_not() -> (
    None
):
    async def play() -> None:
        mortal = Mortal()
        fleet = await mortal.die(times=4, seconds_between=5.0)
        (ended,) = await fleet.wait(0.0)
        assert (ended.site, ended.state, ended.ended) == ("a", TaskState.STOPPED, 20.0)
        assert ended.reason == PROCESS_DIED
        assert mortal.reborn.begun == ["b"]

    asyncio.run(play())


def test_a_process_that_dies_every_other_hour_costs_no_site() -> None:
    async def play() -> None:
        mortal = Mortal()
        fleet = await mortal.die(times=20, seconds_between=7200.0)
        assert not await fleet.wait(0.0)
        assert mortal.reborn.begun == ["a", "b"]

    asyncio.run(play())


def test_who_closes_while_a_process_is_replaced_closes_the_new_one() -> None:
    async def play() -> None:
        dying, reborn = Speaking([HELLO]), Speaking([HELLO])
        worker = WorkerProcess(None, dying)  # type: ignore[arg-type]

        async def replaced(worker: WorkerProcess) -> None:
            closing.append(asyncio.create_task(fleet.close("interrupted")))
            await asyncio.sleep(0.01)
            worker.stream = reborn  # type: ignore[assignment]

        closing: list[asyncio.Task[None]] = []
        fleet = ProcessFleet([worker], BYTES_LEFT.__getitem__, replaced, SystemClock())
        await fleet.receive(worker)
        assert Close() in reborn.orders
        await asyncio.wait_for(closing[0], 5)

    asyncio.run(play())


def test_what_a_process_did_before_it_died_stays_done_and_its_sites_go_on() -> None:
    """With the rates that they have by then, and what they were told to stop for."""

    async def play() -> tuple[ProcessFleet, Heard]:
        dying = Speaking([HELLO, News([Progress("a")], [], TALLY, 70)])
        reborn = Speaking([HELLO, None])
        worker = WorkerProcess(None, dying)  # type: ignore[arg-type]

        async def replaced(worker: WorkerProcess) -> None:
            fleet.set_rates({"a": 30.0})
            fleet.stop("b", "deadline")
            await asyncio.sleep(0.01)
            worker.stream = reborn  # type: ignore[assignment]

        fleet = ProcessFleet([worker], BYTES_LEFT.__getitem__, replaced, SystemClock(), cores=2)
        fleet.set_total(1000.0)
        fleet.start(Task(Site("a", max_time=Seconds(60.0)), visit=3))
        fleet.start(Task(Site("b")))
        fleet.set_rates({"a": 10.0, "b": 20.0})
        hearing = asyncio.create_task(fleet.receive(worker))
        await dying.over.wait()
        while len(reborn.speak) > 1:
            await asyncio.sleep(0.01)
        assert not fleet.progress(), "nobody takes a site that restarts for a slow one"
        fleet._take(worker, News([Progress("a")], [], TALLY, 5))
        hearing.cancel()
        return fleet, reborn

    fleet, reborn = asyncio.run(play())
    rates = next(order for order in reborn.orders if isinstance(order, SetRates))
    assert rates.rates == {"a": 30.0, "b": 20.0}
    assert reborn.begun == ["a", "b"]
    task = next(order.task for order in reborn.orders if isinstance(order, Start))
    assert task.visit == 3
    assert task.site.max_time is not None
    assert task.site.max_time < 60.0, "its time goes on"
    assert StopSite("b", "deadline") in reborn.orders
    assert reborn.total == 1000.0
    assert reborn.cores == [2], "whatever the one that died was told meanwhile"
    assert fleet.carried() == 75
    assert fleet.servers()["192.0.2.1"].requests == 4
    assert [progress.restarts for progress in fleet.progress()] == [1]


def test_a_site_that_kills_its_process_each_time_is_stopped() -> None:
    async def play() -> tuple[list[Progress], int]:
        def process() -> Speaking:
            return Speaking([HELLO, News([Progress("a", TaskState.CRAWLING, pages=3)], [], {}, 1)])

        worker, replacements = WorkerProcess(None, process()), list[WorkerProcess]()  # type: ignore[arg-type]

        async def replaced(worker: WorkerProcess) -> None:
            replacements.append(worker)
            worker.stream = process()  # type: ignore[assignment]
            if len(replacements) > 3:
                worker.stream.speak.append(None)  # type: ignore[attr-defined]

        fleet = ProcessFleet([worker], BYTES_LEFT.__getitem__, replaced, SystemClock())
        begin(fleet, {"a": 10.0})
        hearing = asyncio.create_task(fleet.receive(worker))
        ended = await fleet.wait(5.0)
        hearing.cancel()
        return list(ended), len(replacements)

    (ended,), replacements = asyncio.run(play())
    assert (ended.site, ended.state, ended.pages) == ("a", TaskState.STOPPED, 3)
    assert "died" in ended.reason
    assert (ended.restarts, replacements) == (4, 4)


@pytest.mark.parametrize(
    ("words", "fault"), [([], "ended unexpectedly"), ([Hello(version() + 1)], "was updated")]
)
def test_a_process_that_cannot_be_talked_to_ends_the_crawl(words: list[Word], fault: str) -> None:
    async def play() -> None:
        worker = WorkerProcess(None, Speaking(words))  # type: ignore[arg-type]
        fleet = ProcessFleet([worker], BYTES_LEFT.__getitem__, _nobody_dies, SystemClock())
        await fleet.receive(worker)
        await fleet.wait(0.0)

    with pytest.raises(WorldFault, match=fault):
        asyncio.run(play())
