from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import make_page

from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.warc.writer import file_safe

from .crawled import STARTED, crawl_once

ASK_FOR_LOCK = """
import os, sys
from pathlib import Path
from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection
if sys.argv[2] == "as nobody":
    os.setuid(65534)
try:
    with Collection(Path(sys.argv[1])).lock():
        print("mine", flush=True)
        if sys.argv[2] == "and die":
            os._exit(0)
except UserMistake as mistake:
    print(mistake)
"""


def ask_for_lock(folder: Path, how: str = "") -> str:
    command = [sys.executable, "-c", ASK_FOR_LOCK, str(folder), how]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def test_a_second_crawl_is_refused_and_told_who_is_at_work(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    with collection.lock():
        said = ask_for_lock(tmp_path)
        assert said.startswith(f"{tmp_path} is in use by another crawl (process {os.getpid()});")
        with pytest.raises(UserMistake, match="in use"), collection.lock():
            pass
    assert ask_for_lock(tmp_path) == "mine"


def test_a_crawl_that_died_leaves_no_lock(tmp_path: Path) -> None:
    assert ask_for_lock(tmp_path, "and die") == "mine"
    assert ask_for_lock(tmp_path) == "mine"


def test_a_file_in_the_place_of_the_folder_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    for path in (tmp_path / "out", tmp_path / "out" / "deeper"):
        with pytest.raises(UserMistake, match=r"cannot write to .*; name another folder"):
            Collection(path).lock().__enter__()


def test_a_folder_without_permission_is_the_users_mistake(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    said = ask_for_lock(tmp_path / "out", "as nobody" if os.geteuid() == 0 else "")
    assert said == (
        f"cannot write to {tmp_path}/out: Permission denied; name another folder with --out"
    )


def test_runs_are_named_by_their_start_and_listed_newest_first(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    assert collection.runs() == []
    zone = timezone(timedelta(hours=2))
    with collection.lock():
        names = [collection.new_run(STARTED).stamp for _ in range(11)]
        later = collection.new_run((STARTED + timedelta(seconds=1)).astimezone(zone)).stamp
    assert names[:2] == ["2026-11-15T12-00-00", "2026-11-15T12-00-00-2"]
    assert names[10] == "2026-11-15T12-00-00-11"
    assert later == "2026-11-15T12-00-01"
    assert [run.stamp for run in collection.runs()] == [later, *reversed(names)]


def test_resume_finds_the_newest_unfinished_run(tmp_path: Path) -> None:
    crawl_once(tmp_path)
    collection = Collection(tmp_path)
    assert collection.unfinished_run() is None
    with collection.lock():
        run = collection.new_run(STARTED + timedelta(days=1))
        run.save("settings", b"first")
        run.save("settings", b"second")
        spool = SiteSpool(run.place("s/t"))
        spool.put(make_page(1))
        spool.commit()
        spool.close()
    found = collection.unfinished_run()
    assert found == run
    assert found.load("settings") == b"second"
    assert found.load("nothing") is None
    assert [journal.name for journal in found.journals()] == [f"{file_safe('s/t')}.journal"]


def test_a_run_that_was_sealed_but_not_cleared_is_finished(tmp_path: Path) -> None:
    """The process died while it deleted the spool."""
    collection = Collection(tmp_path)
    with collection.lock():
        run = collection.new_run(STARTED)
        run.spool.rename(run.spool.with_name(f".done-{run.stamp}"))
    assert collection.unfinished_run() is None
    with collection.lock():
        assert list((tmp_path / "spool").iterdir()) == []
