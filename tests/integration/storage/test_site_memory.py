"""The file of a site's memory: merged in pieces as in one go, whole or refused, never shared."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.storage.warc.making import make_page

from headgate.model.errors import UserMistake, WorldFault
from headgate.storage.collection import Collection
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.memory import merging as memory_merging
from headgate.storage.memory import site
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.memory.merging import merge
from headgate.storage.memory.page import PageLook, PageMemory, Sighting, after
from headgate.storage.memory.remembering import mend_memories
from headgate.storage.memory.site import SiteMemory, read_summary
from headgate.storage.sealing import seal

from .crawled import STARTED, crawl_once


def sighting(number: int, at: float, status: int | None) -> Sighting:
    url = f"http://site.test/{number}"
    if status is None:
        return Sighting(url, number % 5, at)
    digest = b"x" * 20 if status == 200 else b""
    look = PageLook(
        at,
        status,
        error="",
        size_bytes=100 + number,
        etag="",
        last_modified="",
        digest=digest,
        content=digest,
        original_url="",
        original_at=at,
        file=0,
        offset=number,
    )
    return Sighting(url, number % 5, at, look)


def remember(path: Path, run: str, sightings: Sequence[Sighting]) -> None:
    with SiteMemory.checked(path, "site") as old:
        merge(path, old, run, lambda _: sightings)


def known(path: Path) -> dict[str, PageMemory]:
    with SiteMemory.checked(path, "site") as memory:
        pages = {page.url: page for page in memory}
        assert len(pages) == len(memory)
        assert all(memory.find(url) == page for url, page in pages.items())
        assert memory.find("http://site.test/none") is None
        here = [page for page in pages.values() if not page.gone]
        summary = memory.summary
        assert (summary.pages, summary.gone) == (len(here), len(pages) - len(here))
        assert summary.sized == sum(page.size_bytes > 0 for page in here)
        assert summary.sized_bytes == sum(page.size_bytes for page in here)
        assert summary == read_summary(path, "site") or not pages
        return pages


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


statuses = st.none() | st.sampled_from([200, 304, 404, 500])
runs = st.lists(st.lists(st.tuples(st.integers(0, 30), statuses), max_size=12), max_size=4)


@settings(max_examples=40)
@given(runs, st.booleans(), st.sampled_from([1, 200, 4_000_000]))
def test_merged_run_by_run_it_is_what_page_by_page_comes_to(
    looks: list[list[tuple[int, int | None]]], collide: bool, piece_bytes: int
) -> None:
    """Also where all URLs have one key of three, and where a run is sorted in many pieces."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_merging, "_PIECE_BYTES", piece_bytes)
        if collide:
            for module in (site, memory_merging):
                patch.setattr(module, "key_of", lambda url: len(url) % 3)
        path = Path(folder) / "sites" / "site.pages"
        expected: dict[str, PageMemory] = {}
        for number, run in enumerate(looks):
            met = [sighting(page, number + 1.0, status) for page, status in run]
            for one in met:
                expected[one.url] = after(expected.get(one.url), one)
            remember(path, str(number), met)
            assert known(path) == expected
            remember(path, str(number), met)
            assert known(path) == expected, "once more changes nothing"


def test_when_most_pages_are_gone_their_entries_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_merging, "_MOST_GONE", 0)
    path = tmp_path / "sites" / "site.pages"
    for at in (1.0, 2.0):
        remember(path, str(at), [sighting(number, at, 404) for number in range(20)])
    remember(path, "3", [sighting(number, 3.0, 200) for number in range(15, 25)])
    assert set(known(path)) == {f"http://site.test/{number}" for number in range(15, 25)}


def test_any_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "sites" / "site.pages"
    remember(path, "1", [sighting(number, 1.0, 200) for number in range(20)])
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        spoilt = bytearray(whole)
        spoilt[place] ^= 0x10
        path.write_bytes(spoilt)
        with pytest.raises(DamagedMemory):
            SiteMemory.checked(path, "site")
    for length in [0, 1, 59, 60, 61, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedMemory):
            SiteMemory.checked(path, "site")
        assert read_summary(path, "site") is None
    path.write_bytes(whole + b"more")
    with pytest.raises(DamagedMemory):
        SiteMemory.checked(path, "site")


def test_a_merge_that_dies_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "sites" / "site.pages"
    remember(path, "1", [sighting(1, 1.0, 200)])
    before = path.read_bytes()

    def dies() -> Sequence[Sighting]:
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError), SiteMemory.checked(path, "site") as old:
        merge(path, old, "2", lambda _: dies())
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["site.pages"]


def test_a_memory_takes_its_name_only_when_all_of_it_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a power cut may leave the new name with nothing, or half, behind it."""
    path = tmp_path / "sites" / "site.pages"
    done: list[tuple[str, str, bytes]] = []
    fsync, rename = os.fsync, Path.replace

    def synced(fd: int) -> None:
        fsync(fd)
        what = Path(f"/proc/self/fd/{fd}").readlink()
        done.append(("durable", what.name, what.read_bytes() if what.is_file() else b""))

    def renamed(part: Path, to: Path) -> Path:
        done.append(("renamed", part.name, part.read_bytes()))
        return rename(part, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    for run in ("1", "2"):
        done.clear()
        remember(path, run, [sighting(int(run), 1.0, 200)])
        steps = [(step, name) for step, name, _ in done if name != tmp_path.name]
        part = ".site.pages.part"
        assert steps == [("durable", part), ("renamed", part), ("durable", "sites")]
        assert {content for _, name, content in done if name == part} == {path.read_bytes()}


def test_two_sites_never_share_a_file(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    names = ["a/b", "a_b", "a b", f"{collection.memory('a/b').stem}", "A", "é", "e", "." * 9]
    assert len({collection.memory(name) for name in names}) == len(names)
    path = collection.memory("site")
    remember(path, "1", [sighting(1, 1.0, 200)])
    with pytest.raises(UserMistake, match="belongs to the site 'site'"):
        SiteMemory(path, "another")


def test_no_file_stays_open(tmp_path: Path) -> None:
    paths = [tmp_path / "sites" / "site.pages"] * 3
    before = open_files()
    for number, path in enumerate(paths):
        remember(path, str(number), [sighting(number, 1.0 + number, 200)])
    with SiteMemory(paths[0], "site"):
        assert open_files() <= before + 1
    assert open_files() == before


def test_two_thousand_runs_open_in_no_time_and_with_few_files(tmp_path: Path) -> None:
    """Of a site that all of them visited, and with a memory that was lost, of one that none did."""
    run = crawl_once(tmp_path)
    for number in range(2, 2002):
        copy = run.path.with_name(f"{run.stamp}-{number}")
        copy.mkdir()
        (copy / "pages.parquet").hardlink_to(run.path / "pages.parquet")
    collection = Collection(tmp_path)
    files = open_files()
    began = time.process_time()
    with collection.lock():
        assert collection.unfinished_run() is None
        assert mend_memories(collection, ["docs", "new"], {"docs"}.__contains__) == []
        with closing(KnownPages(collection, "docs")) as known:
            assert known.find("http://site.example/page/5.html") is not None
            assert open_files() - files <= 64
    assert time.process_time() - began < 1.0, "of CPU: others may use the machine"


def test_a_lost_memory_is_made_again_from_many_runs_one_file_at_a_time(tmp_path: Path) -> None:
    run = crawl_once(tmp_path)
    for number in range(2, 102):
        copy = run.path.with_name(f"{run.stamp}-{number}")
        copy.mkdir()
        (copy / "pages.parquet").hardlink_to(run.path / "pages.parquet")
    collection = Collection(tmp_path)
    before = read_summary(collection.memory("docs"), "docs")
    collection.memory("docs").unlink()
    (remark,) = mend_memories(collection, ["docs"], {"docs"}.__contains__)
    assert "was missing" in remark
    after_it = read_summary(collection.memory("docs"), "docs")
    assert before is not None
    assert after_it is not None
    assert after_it.pages == before.pages
    assert after_it.revalidatable == before.revalidatable


def test_a_strange_table_is_named(tmp_path: Path) -> None:
    run = crawl_once(tmp_path)
    collection = Collection(tmp_path)
    collection.memory("docs").unlink()
    pq.write_table(pa.table({"a": [1]}), run.path / "pages.parquet")
    with pytest.raises(WorldFault, match="no table of pages"):
        mend_memories(collection, ["docs"], {"docs"}.__contains__)
    (run.path / "pages.parquet").write_bytes(b"something else")
    with pytest.raises(WorldFault, match="put the file back"):
        mend_memories(collection, ["docs"], {"docs"}.__contains__)


def test_a_site_that_a_run_left_out_keeps_its_memory(tmp_path: Path) -> None:
    crawl_once(tmp_path)
    collection = Collection(tmp_path)
    before = collection.memory("docs").read_bytes()
    with collection.lock():
        run = collection.new_run(STARTED + timedelta(days=1))
        spool = SiteSpool(run.place("other"))
        spool.put(make_page(1))
        spool.commit()
        spool.close()
        seal(run)
        run.finish()
    assert collection.memory("docs").read_bytes() == before
    assert collection.memory("other").exists()
