"""A keeper that is killed: the short form of `bench/keep_kills.py`."""

from __future__ import annotations

from pathlib import Path

from bench.keep_kills import keep_and_kill, problems_of

from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory


def test_kills_lose_no_version_and_store_none_twice(tmp_path: Path) -> None:
    done = keep_and_kill(tmp_path, kills=3, seed=5)
    assert done.problems == []
    assert done.visits > 0
    out = tmp_path / "kept"
    with SiteMemory(Collection(out).memory("wiki"), "wiki") as memory:
        stored = {(page.url, page.digest.hex()) for page in memory if page.digest}
    assert not problems_of(out, stored)
    for index in (out / "runs").glob("*/index.cdxj"):
        index.write_text("")
    assert len(problems_of(out, stored)) == len(stored), "a version that is lost is found out"


def test_kills_while_old_versions_go_leave_what_is_kept_whole(tmp_path: Path) -> None:
    done = keep_and_kill(tmp_path, kills=3, seed=3, newest=2)
    assert done.problems == []
