"""An unfinished run that another version of Headgate began: one line says so, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from .strange_collections import Strange, entered, make_crawl, make_survey, without_the_web

Capture = pytest.CaptureFixture[bytes]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    return make_crawl(tmp_path_factory.mktemp("crawled") / "data")


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    return make_survey(tmp_path_factory.mktemp("surveyed") / "data")


def with_other_journals(run: Strange) -> None:
    for path in run.spool.glob("*.journal"):
        path.write_bytes(path.read_bytes().replace(b"headgate journal 2 ", b"headgate journal 1 "))


def with_other_survey_log(run: Strange) -> None:
    log = run.unfinished / "survey.log"
    log.write_bytes(log.read_bytes().replace(b"headgate survey 1\n", b"headgate survey 0\n"))


def with_other_state(name: str, **fields: object) -> Callable[[Strange], None]:
    def change(run: Strange) -> None:
        path = run.spool / f"{name}.state"
        path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | fields))

    return change


@pytest.mark.parametrize("command", ["--resume", "--abandon"])
def test_journals_of_another_version_stay(
    crawled: Strange,
    tmp_path: Path,
    capfdbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    without_the_web(monkeypatch)
    here = crawled.copy(tmp_path / "data")
    with_other_journals(here)
    done = entered(capfdbinary, "crawl", command, "--out", here.path, "--quiet")
    assert done.code == 2
    assert "another version of Headgate" in done.complaint
    assert list(here.spool.glob("*.journal")), "it can still be finished by that version"


@pytest.mark.parametrize(
    ("name", "fields"), [("request", {"crawlers": "three"}), ("report", {"sites": None})]
)
def test_state_of_another_version_is_said_to_be_one(
    crawled: Strange,
    tmp_path: Path,
    capfdbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fields: dict[str, object],
) -> None:
    without_the_web(monkeypatch)
    here = crawled.copy(tmp_path / "data")
    with_other_state(name, **fields)(here)
    done = entered(capfdbinary, "crawl", "--resume", "--out", here.path, "--quiet")
    assert done.code == 2
    assert f"{name}.state was written by another version of Headgate" in done.complaint


def test_time_of_another_version_is_said_to_be_one(
    crawled: Strange, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_web(monkeypatch)
    here = crawled.copy(tmp_path / "data")
    (here.spool / "elapsed.state").write_bytes(b'{"seconds":3.5,"ended":false}')
    done = entered(capfdbinary, "crawl", "--resume", "--out", here.path, "--quiet")
    assert done.code == 2
    assert "another version of Headgate" in done.complaint


def test_a_survey_of_another_version_is_said_to_be_one(
    surveyed: Strange, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_web(monkeypatch)
    here = surveyed.copy(tmp_path / "data")
    with_other_survey_log(here)
    done = entered(capfdbinary, "survey", "--resume", "--out", here.path, "--quiet")
    assert done.code == 2
    assert "another version of Headgate" in done.complaint
    here = surveyed.copy(tmp_path / "data")
    with_other_state("survey", starts=None)(here)
    done = entered(capfdbinary, "survey", "--resume", "--out", here.path, "--quiet")
    assert done.code == 2
    assert "another version of Headgate" in done.complaint
