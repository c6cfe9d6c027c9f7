"""Whose request a run has: a mark that only this user can make."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.engine.begun_here import is_begun_here, key_file, mark_as_begun_here
from headgate.storage.collection import RunFolder

REQUEST = b'{"urls": ["https://a.org/"]}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def begun(folder: Path, stamp: str = "2026-11-15T19-20-03") -> RunFolder:
    run = RunFolder(folder, stamp)
    run.spool.mkdir(parents=True)
    mark_as_begun_here(run, "request", REQUEST)
    run.save("request", REQUEST)
    return run


@pytest.mark.usefixtures("home")
def test_what_was_begun_here_is_known_wherever_it_was_moved(tmp_path: Path) -> None:
    run = begun(tmp_path / "a")
    assert is_begun_here(run, "request")
    run.collection.rename(tmp_path / "b")
    assert is_begun_here(RunFolder(tmp_path / "b", run.stamp), "request")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.save("request", REQUEST + b" "),
        lambda run: run.save("begun-here", b""),
        lambda run: run.save("begun-here", b"0" * 64),
        lambda run: run.state_file("begun-here").unlink(),
        lambda run: run.state_file("request").unlink(),
        lambda _: key_file().write_bytes(bytes(32)),
        lambda _: key_file().write_bytes(b"short"),
        lambda _: key_file().unlink(),
    ],
)
def test_nothing_else_is(tmp_path: Path, change: Callable[[RunFolder], object]) -> None:
    run = begun(tmp_path / "a")
    change(run)
    assert not is_begun_here(run, "request")


@pytest.mark.usefixtures("home")
def test_a_mark_is_of_one_run_and_one_kind_of_request(tmp_path: Path) -> None:
    run, other = begun(tmp_path / "a"), RunFolder(tmp_path / "a", "2026-11-15T19-20-03-2")
    run.save("survey", REQUEST)
    assert not is_begun_here(run, "survey")
    run.spool.rename(other.spool)
    assert not is_begun_here(other, "request")


def test_the_key_is_its_users_alone(tmp_path: Path, home: Path) -> None:
    begun(tmp_path / "a")
    assert key_file().parent.parent == home
    assert key_file().stat().st_mode & 0o777 == 0o600
    assert len(key_file().read_bytes()) == 32
    assert [path.name for path in key_file().parent.iterdir()] == ["runs.key"]


def test_without_a_home_there_is_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    home.touch()  # where a folder is to be
    assert not is_begun_here(begun(tmp_path / "a"), "request")

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setattr(Path, "home", nobody)
    assert not is_begun_here(begun(tmp_path / "b"), "request")


def _begin(folder: str) -> None:
    begun(Path(folder))


@pytest.mark.usefixtures("home")
def test_of_many_that_make_a_key_at_once_one_wins(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(8)]
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_begin, map(str, folders))
    runs = [RunFolder(folder, "2026-11-15T19-20-03") for folder in folders]
    assert all(is_begun_here(run, "request") for run in runs)
