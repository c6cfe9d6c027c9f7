"""Tables that another process writes: the same, whatever becomes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.storage.crawled import STARTED, WARCINFO
from tests.open_files import files_opened_up_to
from tests.unit.storage.warc.making import make_page

from headgate.crawling.child_process import Child, readable
from headgate.crawling.progress import Progress
from headgate.engine import tables_beside
from headgate.engine.tables_beside import TablesBeside
from headgate.model.errors import WorldFault
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.sealing import seal

FILES = ("index.cdxj", "pages.parquet", "links.parquet")
AT_ITS_END = [Progress("docs", pages=5_000, to_do=0)]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Two sites, all of it in journals."""
    run = Collection(tmp_path / "data").new_run(STARTED)
    for site, first in (("docs", 0), ("more", 1_000)):
        with closing(SiteSpool(run.place(site, WARCINFO))) as spool:
            for number in range(first, first + 300):
                spool.put(make_page(number))
                if number % 100 == 99:
                    spool.commit()
    return run


@pytest.fixture
def started(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[TablesBeside, Child]]:
    """With its process, which is ready."""
    children: list[Child] = []

    def start(run: RunFolder) -> Child:
        children.append(begin(run))
        return children[-1]

    begin = tables_beside._start
    monkeypatch.setattr(tables_beside, "_start", start)
    monkeypatch.setattr(tables_beside, "_PATIENCE_SECONDS", 300.0)
    with closing(TablesBeside(run, cores=2)) as tables:
        tables.start_if_near(AT_ITS_END, 2.0)
        assert readable(children, 300.0)
        yield tables, children[0]
    assert not Path(f"/proc/{children[0].pid}").exists()


def contents(run: RunFolder) -> list[bytes]:
    return [(run.path / name).read_bytes() for name in FILES]


def sealed(run: RunFolder, written: Callable[[], bool] | None) -> list[bool]:
    """What who writes the tables answered."""
    answers: list[bool] = []

    def ask() -> bool:
        assert written is not None
        answers.append(written())
        return answers[-1]

    seal(run, tables_written=None if written is None else ask)
    return answers


def test_all_files_are_those_that_one_process_makes(
    run: RunFolder, started: tuple[TablesBeside, Child]
) -> None:
    tables, _ = started
    assert sealed(run, tables.begin()) == [True]
    together = contents(run)
    for name in FILES:
        (run.path / name).unlink()
    seal(run)
    assert contents(run) == together


def test_a_crawl_with_thousands_of_open_files_has_them_too(run: RunFolder) -> None:
    with files_opened_up_to(1_024), closing(TablesBeside(run, cores=2)) as tables:
        tables.start_if_near(AT_ITS_END, 2.0)
        child = tables._child
        assert child is not None
        assert child.fileno() > 1_024
        assert readable([child], 300.0)
        assert sealed(run, tables.begin()) == [True]


def test_sites_not_yet_remembered_are(run: RunFolder, started: tuple[TablesBeside, Child]) -> None:
    sealed(run, started[0].begin())
    memories = Collection(run.collection).memories
    assert len(list(memories.glob("*.pages"))) == 2


def test_a_process_that_died_is_done_without(
    run: RunFolder, started: tuple[TablesBeside, Child]
) -> None:
    tables, child = started
    os.kill(child.pid, signal.SIGKILL)
    assert sealed(run, tables.begin()) in ([], [False])
    assert all(contents(run))


def test_a_process_that_dies_at_it_is_done_without(
    run: RunFolder, started: tuple[TablesBeside, Child]
) -> None:
    tables, child = started
    os.kill(child.pid, signal.SIGSTOP)
    written = tables.begin()
    os.kill(child.pid, signal.SIGKILL)
    assert sealed(run, written) == [False]
    assert all(contents(run))


def test_a_process_that_stands_still_is_not_waited_for(
    run: RunFolder,
    started: tuple[TablesBeside, Child],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables_beside, "_PATIENCE_SECONDS", 0.1)
    tables, child = started
    os.kill(child.pid, signal.SIGSTOP)
    assert sealed(run, tables.begin()) == [False]
    assert child.stop() == -signal.SIGKILL
    assert all(contents(run))


def test_one_that_is_not_ready_is_not_waited_for(run: RunFolder) -> None:
    with closing(TablesBeside(run, cores=2)) as tables:
        tables.start_if_near(AT_ITS_END, 2.0)
        assert tables.begin() is None


def test_what_is_wrong_with_the_disk_is_told(
    run: RunFolder, started: tuple[TablesBeside, Child]
) -> None:
    (run.path / "links.parquet").mkdir()
    with pytest.raises(WorldFault, match=r"links\.parquet"):
        sealed(run, started[0].begin())


@pytest.mark.parametrize(
    ("cores", "pages", "to_do", "seconds", "starts"),
    [
        (2, 5_000, 0, 10.0, True),
        (2, 5_000, 1_000, 10.0, True),  # for two seconds
        (2, 5_000, 2_000, 10.0, False),  # for four
        (2, 5_000, 2, 36_000.0, False),  # for longer, since it is slow
        (2, 999, 0, 10.0, False),
        (1, 5_000, 0, 10.0, False),
    ],
)
def test_it_starts_where_a_large_crawl_nears_its_end(
    run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    pages: int,
    to_do: int,
    seconds: float,
    starts: bool,
) -> None:
    started: list[RunFolder] = []

    def start(run: RunFolder) -> Child:
        started.append(run)
        return begin(run)

    begin = tables_beside._start
    monkeypatch.setattr(tables_beside, "_start", start)
    sites = [Progress("docs", pages=pages - 1, to_do=to_do), Progress("more", pages=1)]
    with closing(TablesBeside(run, cores)) as tables:
        tables.start_if_near(sites, seconds)
        tables.start_if_near(sites, seconds)
    assert started == [run] * starts


def test_without_a_process_nobody_writes(run: RunFolder) -> None:
    tables = TablesBeside(run, cores=2)
    tables.start_if_near([], 0.0)
    assert tables.begin() is None
    tables.close()
