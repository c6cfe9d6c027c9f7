"""What every log of a survey must do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from headgate.features.survey.log import SurveyFile, SurveyLog, read_survey
from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.testing.memory_store import MemorySurveyLog

Reopen = Callable[[], tuple[SurveyLog, Sequence[SurveyEntry]]]
"""The log as whoever goes on finds it, and what is stored in it."""


@pytest.fixture(params=["memory", "file"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    stored: list[SurveyEntry] = []
    path = tmp_path / "survey.log"
    with ExitStack() as opened:

        def on_disk() -> tuple[SurveyLog, Sequence[SurveyEntry]]:
            opened.close()
            log = SurveyFile(path)
            opened.callback(log.close)
            return log, list(read_survey(path))

        def in_memory() -> tuple[SurveyLog, Sequence[SurveyEntry]]:
            return MemorySurveyLog(stored), list(stored)

        yield on_disk if request.param == "file" else in_memory


def entry(number: int) -> SurveyEntry:
    return SurveyEntry(
        "a.ke",
        "http://a.ke/",
        round=0,
        url=f"http://a.ke/{number}",
        depth=1,
        ending=RequestEnding.PAGE,
        wall_time=1e9 + number,
        status=200,
        wire_bytes=number,
        links=[("http://b.ke/", "an anchor")],
        new_hosts=["b.ke"],
    )


def test_a_new_log_is_empty(reopen: Reopen) -> None:
    log, stored = reopen()
    assert (log.waiting_bytes, log.commit(), stored) == (0, 0, [])


def test_committed_entries_come_back_whole_and_in_their_order(reopen: Reopen) -> None:
    log, _ = reopen()
    for number in range(4):
        log.put(entry(number))
        if number % 2:
            assert log.waiting_bytes > 0
            assert log.commit() == number + 1
            assert log.waiting_bytes == 0
    log.put(entry(99))
    again, stored = reopen()
    assert stored == [entry(number) for number in range(4)], "99 was never committed"
    again.put(entry(4))
    assert again.commit() == 5, "entries stored, those before among them"
    assert reopen()[1][-1] == entry(4)
