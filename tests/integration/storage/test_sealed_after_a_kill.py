"""A kill leaves records that no journal tells of; a sealed archive has none of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import make_body, make_page

from headgate.engine.runs import JobKind, abandon
from headgate.features.keep.volumes import prepare_staging, recover_staged, staged_visits
from headgate.model.errors import UserMistake
from headgate.scrapy.archive import _seal_killed
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.run_journals import SharedFiles, recover_files
from headgate.storage.journals.spool import SiteSpool

TORN = gzip.compress(make_body(7, 4_000))[:-20]


@pytest.fixture
def killed(tmp_path: Path) -> RunFolder:
    """Small sites share files, and one has grown."""
    collection = Collection(tmp_path / "data")
    with collection.lock():
        run = collection.new_run(datetime(2026, 11, 15, tzinfo=UTC))
        run.save(JobKind.SCRAPY.state, b"{}")
        with closing(SharedFiles.claim(run)) as shared:
            for site, small in (("docs", 0), ("tiny", 1 << 20)):
                with closing(SiteSpool(run.place(site), shared, small)) as spool:
                    for number in range(3):
                        spool.put(make_page(number))
                        spool.commit()
    assert run.journals()
    assert run.shared_journals()
    return run


def torn(run: RunFolder) -> dict[str, int]:
    """The lengths of the archive's files, to which more is added then. Of two sites there was no
    commit: of one only an empty journal is left."""
    whole = {path.name: path.stat().st_size for path in run.warc.iterdir()}
    for path in run.warc.iterdir():
        with path.open("ab") as file:
            file.write(TORN)
    for name in ("docs-00002", "early-00001", "earlier-00001"):
        (run.warc / f"{name}.warc.gz").write_bytes(TORN)
    (run.spool / "earlier.journal").touch()
    return whole


def given_up(run: RunFolder) -> None:
    abandon(run.collection, 0.0, recover_staged)


def sealed_by_the_next_spider(run: RunFolder) -> None:
    _seal_killed(Collection(run.collection))


@pytest.mark.parametrize("end", [given_up, sealed_by_the_next_spider, recover_files])
def test_records_that_were_not_committed_are_cut_off(
    killed: RunFolder, end: Callable[[RunFolder], object]
) -> None:
    whole = torn(killed)
    (killed.warc / "mine.warc.gz").write_bytes(b"the user's own")
    end(killed)
    (killed.warc / "mine.warc.gz").unlink()
    assert {path.name: path.stat().st_size for path in killed.warc.iterdir()} == whole
    for path in killed.warc.iterdir():
        gzip.decompress(path.read_bytes())


def test_a_run_whose_archive_is_damaged_can_be_given_up(killed: RunFolder) -> None:
    whole = torn(killed)
    (killed.warc / "docs-00001.warc.gz").unlink()
    given_up(killed)
    assert not killed.unfinished
    assert (killed.path / "pages.parquet").exists()
    shared = next(name for name in whole if name.startswith("small-sites"))
    assert (killed.warc / shared).stat().st_size == whole[shared]


def test_files_that_are_not_recovered_are_told_and_closed(killed: RunFolder) -> None:
    (killed.warc / "docs-00001.warc.gz").unlink()
    before = len(list(Path("/proc/self/fd").iterdir()))
    (fault,) = recover_files(killed)
    assert "docs-00001.warc.gz is missing" in fault
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_visit_that_was_being_moved_to_the_volume_is_kept(tmp_path: Path) -> None:
    """By a kill after its WARC file and before its journal."""
    collection = Collection(tmp_path)
    with collection.lock():
        run = collection.new_run(datetime(2026, 11, 15, tzinfo=UTC))
        run.save(JobKind.KEEP.state, b"{}")
        staged = prepare_staging(tmp_path)
        with closing(SiteSpool(staged.place("docs", visit=2))) as spool:
            spool.put(make_page(1))
            spool.commit()
    (archive,) = staged.warc.iterdir()
    moved = archive.rename(run.warc / archive.name)
    whole = moved.read_bytes()
    given_up(run)
    assert moved.read_bytes() == whole
    assert moved.name in (run.path / "index.cdxj").read_text()
    assert staged_visits(tmp_path) == []


def test_nothing_is_written_into_a_folder_that_is_no_collection(tmp_path: Path) -> None:
    (tmp_path / "photo").touch()
    with pytest.raises(UserMistake, match="no unfinished run"):
        abandon(tmp_path, 0.0, recover_staged)
    assert [path.name for path in tmp_path.iterdir()] == ["photo"]
    with pytest.raises(UserMistake, match="no unfinished run"):
        abandon(tmp_path / "photo", 0.0, recover_staged)
