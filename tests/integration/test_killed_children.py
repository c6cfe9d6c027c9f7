"""A child process of each kind is killed at its work: its parent notices, cleans up and goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.acceptance.small_web import SmallWeb, serving
from tests.integration.crawling.test_second_reader import PAGES, READER, Steps, response
from tests.integration.storage.crawled import STARTED, WARCINFO
from tests.integration.test_own_scorer import PAGE, SCORERS
from tests.integration.test_planning_child import BUDGET, KNOWN, SITES, START
from tests.integration.test_tables_beside import AT_ITS_END
from tests.machine import family, wait_until
from tests.unit.storage.warc.making import make_page

from headgate.control.completion_forecast import plan_the_rest
from headgate.crawling import reading_process, second_reader
from headgate.crawling.child_process import readable
from headgate.crawling.progress import Progress, TaskState
from headgate.crawling.reading_process import read_aside
from headgate.crawling.second_reader import SecondReader
from headgate.engine.clock import SystemClock
from headgate.engine.node import NodeJob
from headgate.engine.planning_child import plan_in_child
from headgate.engine.process_messages import spawning
from headgate.engine.processes import open_processes
from headgate.engine.scorers import OwnScorer
from headgate.engine.tables_beside import TablesBeside
from headgate.features.export.text_workers import answers
from headgate.features.keep.sealing_child import seal_in_child
from headgate.fetching.client import FetcherSettings
from headgate.model.errors import WorldFault
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.sealing import seal

Play = Callable[[Path], Awaitable[None]]


def children(module: str) -> list[int]:
    """Processes that run it, below this one."""
    found = []
    for pid in family(os.getpid())[1:]:
        with suppress(OSError):
            if module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                found.append(pid)
    return found


async def kill(module: str) -> None:
    """The one that runs it, as soon as there is one."""
    while not (pids := children(module)):
        await asyncio.sleep(0.01)
    os.kill(pids[0], signal.SIGKILL)


def killed_once(folder: Path, number: int) -> int:
    """Work of a process that does not survive it the first time."""
    try:
        (folder / f"killed-{number}").mkdir()
    except FileExistsError:
        return number
    os.kill(os.getpid(), signal.SIGKILL)
    return -1


def killed_at_one(question: tuple[Path, int]) -> int:
    return killed_once(*question) if question[1] == 1 else question[1]


def stored(folder: Path) -> RunFolder:
    run = Collection(folder).new_run(STARTED)
    with closing(SiteSpool(run.place("docs", WARCINFO))) as spool:
        spool.put(make_page(0))
        spool.commit()
    return run


async def reading(folder: Path) -> None:
    assert await read_aside("docs", killed_once, folder, 7) == 7


async def exporting(folder: Path) -> None:
    found = answers(killed_at_one, [(folder, number) for number in range(4)], workers=2)
    assert list(found) == [0, None, 2, 3]


async def reading_beside(_folder: Path) -> None:
    body = PAGES["plain"]
    with closing(SecondReader(2, Steps(1.0))) as second:
        while not children("headgate.crawling.second_reader_child"):
            await second.read(READER, response(b"x"), b"x")
        assert (await second.read(READER, response(body), body)).title == "T"
        await kill("headgate.crawling.second_reader_child")
        for _ in range(5):
            assert (await second.read(READER, response(body), body)).title == "T"


async def planning(_: Path) -> None:
    def asked() -> Awaitable[object]:
        return plan_in_child(SITES, BUDGET, forecasts=KNOWN, start=START, seconds=2, quota_used=0)

    with pytest.raises(WorldFault, match="without an answer"):
        await asyncio.gather(asked(), kill("headgate.engine.planning_child"))
    assert await asked() == plan_the_rest(SITES, BUDGET, KNOWN, START, 2.0)


async def scoring(folder: Path) -> None:
    (folder / "scorers.py").write_text(SCORERS)
    with closing(OwnScorer("scorers:by_path", page_seconds=30.0)) as scorer:
        assert await scorer.scores(PAGE, 0.0)
        await kill("headgate.engine.scoring_child")
        assert await scorer.scores(PAGE, 0.0) == {}
        assert scorer.trouble == "switched off: its process broke off"
        assert await scorer.scores(PAGE, 0.0) == {}


async def writing_tables(folder: Path) -> None:
    run = stored(folder)
    with closing(TablesBeside(run, cores=2)) as tables:
        tables.start_if_near(AT_ITS_END, 2.0)
        assert tables._child is not None
        assert readable([tables._child], 300.0)
        os.kill(tables._child.pid, signal.SIGSTOP)
        written = tables.begin()
        assert written is not None
        await kill("headgate.engine.tables_beside")
        assert not written()
    seal(run)
    assert (run.path / "pages.parquet").exists()


async def sealing(folder: Path) -> None:
    run = stored(folder)
    with SqliteCatalog(Collection(folder).catalog):
        pass
    with pytest.raises(WorldFault, match=r"broke off: it ended with code -9"):
        await asyncio.gather(seal_in_child(run), kill("headgate.features.keep.sealing_child"))
    await seal_in_child(run)
    assert (run.path / "pages.parquet").exists()


async def crawling(folder: Path) -> None:
    collection = Collection(folder)
    with serving(SmallWeb(30, seconds_per_page=0.05)) as web, collection.lock():
        site = Site("small", seeds=(web.seed,))
        run = collection.new_run(datetime.fromtimestamp(time.time(), UTC))
        job = NodeJob(folder, run.stamp, FetcherSettings("tests", named=frozenset({"127.0.0.1"})))
        async with open_processes(spawning(job), lambda _: 1.0, 1, SystemClock()) as fleet:
            fleet.start(Task(site))
            fleet.set_rates({site.name: 1e6})
            while len(web.served) < 3:
                await fleet.wait(0.1)
            await kill("headgate.engine.crawling_process")
            ended: list[Progress] = []
            while not ended:
                ended.extend(await fleet.wait(0.5))
            await fleet.close("done")
    (progress,) = ended
    assert (progress.state, progress.restarts) == (TaskState.DONE, 1)


KINDS = (
    reading, exporting, reading_beside, planning, scoring, writing_tables, sealing, crawling,
)  # fmt: skip


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """No process and no file that was not there before."""
    before = len(list(Path("/proc/self/fd").iterdir())), family(os.getpid())
    yield
    reading_process._ASIDE.end_child()
    await asyncio.sleep(0)  # transports that were closed end in the loop's next round
    assert (len(list(Path("/proc/self/fd").iterdir())), family(os.getpid())) == before


@pytest.mark.parametrize("play", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_its_parent_goes_on(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_process, "_ASIDE", reading_process._Aside())
    monkeypatch.setattr(second_reader, "_WORTH_BYTES", 0)
    monkeypatch.chdir(tmp_path)

    async def run() -> None:
        async with nothing_left():
            await asyncio.wait_for(play(tmp_path), 120)

    asyncio.run(run())


def test_signals_of_the_terminal_are_its_parents_from_the_first_moment_on() -> None:
    """They come over and over again while it starts."""
    code = """
import os, pickle, signal
from headgate.crawling.child_process import Child

signs = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
for sign in signs:
    signal.signal(sign, lambda *_: None)
child = Child("headgate.crawling.reading_child")
child.send(pickle.dumps((sorted, ([2, 1],), {})))
answer = None
while answer is None:
    for sign in signs:
        os.killpg(0, sign)
    try:
        answer = pickle.loads(child.receive(0.01))
    except TimeoutError:
        pass
print(answer)
child.stop()
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, start_new_session=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(True, [1, 2])\n", "")


def test_it_ends_with_its_parent() -> None:
    code = "import os\nfrom headgate.crawling.child_process import Child\n"
    code += "print(Child('headgate.crawling.reading_child').pid, flush=True)\nos._exit(1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    wait_until(lambda: not Path(f"/proc/{int(done.stdout)}").exists())


def test_it_does_not_import_from_the_folder_that_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('not the one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading_process, "_ASIDE", own := reading_process._Aside())
    assert asyncio.run(read_aside("docs", sorted, [2, 1])) == [1, 2]
    own.end_child()
