"""A disk that takes no more: one clear line, and everything stored before is whole."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import make_fetched, make_url
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headgate.model.errors import WorldFault
from headgate.model.page import Page
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.sealing import seal
from headgate.storage.spill import DiskSpill

from .crawled import STARTED

NO_SPACE = (
    r"cannot write .*: No space left on device \(free some space, then try again; .*--resume\)"
)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def make_large_page(number: int) -> Page:
    return Page(make_fetched(number, b"%d" % number + os.urandom(15_000)), 0)


def store_until_refused(run: RunFolder) -> tuple[int, str]:
    """How many pages were reported stored, and what was said at the end."""
    spool = SiteSpool(run.place("s"))
    reported = 0
    try:
        for number in range(1000):
            spool.put(make_large_page(number))
            reported = spool.commit()
    except WorldFault as fault:
        with pytest.raises(WorldFault, match="--resume"):
            spool.commit()
        return reported, str(fault)
    finally:
        spool.close()
    raise AssertionError("the disk never filled")


def archived_urls(run: RunFolder) -> list[str]:
    urls = []
    for file in sorted(run.warc.iterdir()):
        with file.open("rb") as opened:
            for record in ArchiveIterator(opened, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    urls.append(record.rec_headers.get_header("WARC-Target-URI"))
    return urls


def check_goes_on(run: RunFolder, reported: int) -> None:
    """Every page reported stored is there; the run goes on and can be sealed."""
    spool = SiteSpool(run.place("s"))
    expected = [make_url(number) for number in range(reported)]
    assert [row.url for row in spool.pages()] == expected
    spool.put(make_large_page(reported))
    spool.finish()
    spool.commit()
    spool.close()
    assert archived_urls(run) == [*expected, make_url(reported)]
    seal(run)
    run.finish()


def test_a_full_disk_loses_nothing_stored(tiny_disk: Path) -> None:
    collection = Collection(tiny_disk / "out")
    with collection.lock():
        run = collection.new_run(STARTED)
        reported, said = store_until_refused(run)
        assert reported > 5
        assert re.fullmatch(NO_SPACE, said)
        assert archived_urls(run)[:reported] == [make_url(number) for number in range(reported)]
        enlarge(tiny_disk)
        check_goes_on(run, reported)


def test_the_largest_size_of_a_file_is_met(tmp_path: Path) -> None:
    collection = Collection(tmp_path / "out")
    with collection.lock():
        run = collection.new_run(STARTED)
        with file_size_limit(100_000):
            reported, said = store_until_refused(run)
        assert reported > 3
        assert "File too large" in said
        assert "ulimit" in said
        check_goes_on(run, reported)


def test_sealing_on_a_full_disk_can_be_done_again(tiny_disk: Path) -> None:
    collection = Collection(tiny_disk / "out")
    with collection.lock():
        run = collection.new_run(STARTED)
        reported, _ = store_until_refused(run)
        ballast = tiny_disk / "ballast"
        fill(ballast)
        with pytest.raises(WorldFault, match="No space left"):
            seal(run)
        assert {entry.name for entry in run.path.iterdir()} <= {"warc", "index.cdxj"}
        assert run.unfinished
        enlarge(tiny_disk)
        check_goes_on(run, reported)


def test_a_spill_on_a_full_disk_keeps_its_lanes(tiny_disk: Path) -> None:
    spill = DiskSpill(tiny_disk)
    chunks: list[list[str]] = []

    def append_until_refused() -> None:
        while True:
            chunk = [os.urandom(20_000).hex()]
            spill.append(0, chunk)
            chunks.append(chunk)

    with pytest.raises(WorldFault, match="No space left"):
        append_until_refused()
    spill.check()
    assert [spill.pop(0) for _ in chunks] == chunks
    spill.append(0, ["again"])
    spill.close()


def test_a_catalog_on_a_full_disk_says_so(tiny_disk: Path) -> None:
    fill(tiny_disk / "ballast")
    with pytest.raises(WorldFault, match=r"cannot write .*catalog.sqlite"):
        SqliteCatalog(tiny_disk / "catalog.sqlite")


def test_a_collection_cannot_be_made_on_a_full_disk(tiny_disk: Path) -> None:
    collection = Collection(tiny_disk)
    fill(tiny_disk / "ballast")
    with pytest.raises(WorldFault, match="No space left"), collection.lock():
        pass


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
