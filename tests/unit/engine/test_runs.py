"""Which run a job fills: crawls and surveys keep out of each other's way."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.engine.runs import JobKind, going_on, kind_of, open_run
from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection, RunFolder

STARTED = datetime(2026, 11, 16, tzinfo=UTC)
OTHER = {JobKind.CRAWL: JobKind.SURVEY, JobKind.SURVEY: JobKind.CRAWL}


def opened(folder: Path, kind: JobKind, *, resume: bool = False) -> RunFolder:
    collection = Collection(folder)
    with collection.lock():
        return open_run(collection, kind, b"{}", STARTED, resume=resume)


@pytest.mark.parametrize("kind", OTHER)
def test_an_unfinished_run_is_gone_on_with_by_its_own_kind_alone(
    tmp_path: Path, kind: JobKind
) -> None:
    run = opened(tmp_path, kind)
    assert kind_of(run) is kind
    assert opened(tmp_path, kind, resume=True) == run
    with pytest.raises(
        UserMistake, match=f"unfinished {kind} .*go on with --resume.*--abandon --out {tmp_path}'"
    ):
        opened(tmp_path, kind)
    for resume in (True, False):
        with pytest.raises(UserMistake, match=f"'headgate {kind} --resume --out {tmp_path}'"):
            opened(tmp_path, OTHER[kind], resume=resume)
    run.finish()
    assert opened(tmp_path, OTHER[kind]) != run


@pytest.mark.parametrize("kind", JobKind)
def test_without_an_unfinished_run_there_is_nothing_to_resume(
    tmp_path: Path, kind: JobKind
) -> None:
    with pytest.raises(UserMistake, match=f"no unfinished {kind}; leave out --resume"):
        opened(tmp_path, kind, resume=True)


@pytest.mark.parametrize("kind", JobKind)
def test_a_run_killed_at_birth_is_anybodys(tmp_path: Path, kind: JobKind) -> None:
    collection = Collection(tmp_path)
    with collection.lock():
        born = collection.new_run(STARTED)
    assert opened(tmp_path, kind) == born


@pytest.mark.parametrize("kind", OTHER)
@pytest.mark.parametrize("resume", [True, False])
def test_what_a_keeper_left_is_the_keepers(tmp_path: Path, kind: JobKind, resume: bool) -> None:
    opened(tmp_path, JobKind.KEEP)
    with pytest.raises(UserMistake, match="is kept by 'headgate keep'"):
        opened(tmp_path, kind, resume=resume)


@pytest.mark.parametrize(
    ("kind", "request_saved", "words"),
    [
        (JobKind.CRAWL, b"{}", "'headgate crawl --resume --out {}'"),
        (JobKind.CRAWL, b"", "the Python program, with resume=True"),
        (JobKind.SURVEY, b"{}", "'headgate survey --resume --out {}'"),
        (JobKind.MANAGER, b"{}", "'headgate manager', started again"),
        (JobKind.KEEP, b"{}", "'headgate keep', started again"),
        (JobKind.SCRAPY, b"{}", "the spider, run again"),
    ],
)
def test_each_kind_goes_on_by_its_own_command(
    tmp_path: Path, kind: JobKind, request_saved: bytes, words: str
) -> None:
    run = opened(tmp_path, kind)
    run.save(kind.state, request_saved)
    assert going_on(run) == words.format(tmp_path)
