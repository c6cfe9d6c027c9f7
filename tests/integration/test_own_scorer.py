"""Scorers that users bring, well behaved and otherwise, each in a real process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headgate.engine.scorers import OwnScorer
from headgate.focus.signs import LinkSigns, PageSigns

SCORERS = """
import os

def by_path(link, page):
    print("this goes to stderr")
    return 0.9 if "good" in link.url else 0.1

def raising(link, page):
    raise ValueError("no idea\\nwhat this is")

def odd(link, page):
    return float("nan") if "nan" in link.url else "3"

def hanging(link, page):
    while True:
        pass

def leaving(link, page):
    os._exit(3)

not_a_function = 7
"""
PAGE = PageSigns("http://a/", links=[LinkSigns("http://a/good"), LinkSigns("http://a/nan")])


@pytest.fixture
def scorers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scorers.py").write_text(SCORERS)
    monkeypatch.chdir(tmp_path)


def asked(name: str, pages: int = 1, page_seconds: float = 30.0) -> tuple[OwnScorer, list[object]]:
    async def ask() -> tuple[OwnScorer, list[object]]:
        scorer = OwnScorer(name, page_seconds)
        answers: list[object] = [await scorer.scores(PAGE, 0.0) for _ in range(pages)]
        scorer.close()
        assert scorer._child is not None
        assert not Path(f"/proc/{scorer._child.pid}").exists()
        return scorer, answers

    return asyncio.run(ask())


@pytest.mark.usefixtures("scorers")
class TestOwnScorer:
    def test_it_scores(self) -> None:
        scorer, answers = asked("scorers:by_path", pages=3)
        assert answers == [{"http://a/good": 0.9, "http://a/nan": 0.1}] * 3
        assert (scorer.faults, scorer.trouble) == (0, "")

    def test_one_that_raises_is_counted_and_goes_on(self) -> None:
        scorer, answers = asked("scorers:raising", pages=2)
        assert answers == [{}, {}]
        assert scorer.faults == 4
        assert scorer.trouble == "could not score every link: ValueError: no idea what this is"

    def test_what_is_no_score_is_refused_and_what_is_too_much_is_cut(self) -> None:
        scorer, answers = asked("scorers:odd")
        assert answers == [{"http://a/good": 1.0}]
        assert scorer.faults == 1

    def test_one_that_hangs_is_switched_off(self) -> None:
        scorer, answers = asked("scorers:hanging", pages=3, page_seconds=0.2)
        assert answers == [{}, {}, {}]
        assert scorer.trouble == "switched off: took more than 0.2 s for the links of http://a/"

    @pytest.mark.parametrize(
        ("name", "trouble"),
        [
            ("leaving", "its process broke off"),
            ("missing", "cannot be loaded: AttributeError"),
            ("not_a_function", "cannot be loaded: TypeError: scorers:not_a_function is not"),
        ],
    )
    def test_one_that_cannot_run_is_switched_off(self, name: str, trouble: str) -> None:
        scorer, answers = asked(f"scorers:{name}", pages=2)
        assert answers == [{}, {}]
        assert scorer.trouble.startswith(f"switched off: {trouble}")
