"""Visits that nodes brought, on their way into a volume: a crash at any point loses no file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.features.keep.volumes import (
    move_visit,
    prepare_staging,
    recover_staged,
    staged_visits,
    staging,
)
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.spool import SiteSpool

OWNER = Owner("wiki", 7)


def volume(folder: Path, second: int = 1) -> RunFolder:
    return Collection(folder).new_run(datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))


def bring(folder: Path, files: int = 2) -> None:
    """A journal, and WARC files with a word each."""
    place = prepare_staging(folder).place(OWNER.site, visit=OWNER.visit)
    spool = SiteSpool(place)
    spool.finish()
    spool.commit()
    spool.close()
    for number in range(1, files + 1):
        place.warc.path(number).write_bytes(b"page %d" % number)


def held(run: RunFolder) -> list[bytes]:
    place = run.place(OWNER.site, visit=OWNER.visit)
    assert place.journal.exists()
    return [path.read_bytes() for path in sorted(run.warc.iterdir())]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("runs", "spool"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_visit_is_moved_whole_and_once(folder: Path) -> None:
    run = volume(folder)
    bring(folder)
    assert staged_visits(folder) == [OWNER]
    for _ in range(2):
        move_visit(run, OWNER)
        assert not staged_visits(folder)
        assert held(run) == [b"page 1", b"page 2"]


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_after_a_crash_the_rest_follows_to_the_same_volume(folder: Path, moved: int) -> None:
    """Also where another volume was begun since."""
    run = volume(folder)
    bring(folder)
    here = staging(folder).place(OWNER.site, visit=OWNER.visit)
    for number in range(1, moved + 1):
        file = here.warc.path(number)
        file.rename(run.warc / file.name)
    newer = volume(folder, second=2)
    recover_staged([newer, run])
    assert held(run if moved else newer) == [b"page 1", b"page 2"]
    assert not staged_visits(folder)
