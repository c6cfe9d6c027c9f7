"""What a focused crawl relies on in any scorer: Headgate's own orders, and a user's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from headgate.crawling.focused_crawl import InPlace
from headgate.crawling.ports import Scorer
from headgate.engine.scorers import OwnScorer
from headgate.focus.signs import LinkSigns, PageSigns
from headgate.focus.topic import LinksIn, Topic, TopicOrder

OWN = """
def score(link, page):
    if "odd" in link.url:
        raise ValueError("no idea")
    return 7.0 if "good" in link.url else -3.0
"""
PAGE = PageSigns(
    "http://a/",
    "Food",
    text="food safety and more",
    links=[LinkSigns("http://a/good", "food safety"), LinkSigns("http://a/other", "ball games")],
)
Play = Callable[[Scorer], Awaitable[None]]
Playing = Callable[[Play], None]


@pytest.fixture(params=["links-in", "topic", "a user's"])
def playing(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Playing:
    (tmp_path / "own_order.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)

    async def run(play: Play) -> None:
        if request.param == "links-in":
            await play(InPlace(LinksIn()))
        elif request.param == "topic":
            await play(InPlace(TopicOrder(Topic("food safety", []))))
        else:
            scorer = OwnScorer("own_order:score", page_seconds=30.0)
            await play(scorer)
            scorer.close()
            assert scorer._child is not None

    return lambda play: asyncio.run(run(play))


def test_links_of_a_page_get_scores_from_0_to_1(playing: Playing) -> None:
    async def play(scorer: Scorer) -> None:
        for _ in range(3):
            scores = await scorer.scores(PAGE, 0.5)
            assert scores.keys() <= {"http://a/good", "http://a/other"}
            assert all(0.0 <= score <= 1.0 for score in scores.values())
            assert scores["http://a/good"] >= scores["http://a/other"]
        assert (scorer.faults, scorer.trouble) == (0, "")

    playing(play)


def test_urls_that_no_page_says_anything_about_may_have_none(playing: Playing) -> None:
    async def play(scorer: Scorer) -> None:
        await scorer.scores(PAGE, 0.5)
        scores = scorer.score_urls(["http://a/new", "http://a/good"])
        assert scores.keys() <= {"http://a/new", "http://a/good"}
        assert all(0.0 <= score <= 1.0 for score in scores.values())

    playing(play)


def test_what_it_cannot_score_costs_nothing_but_that(playing: Playing) -> None:
    async def play(scorer: Scorer) -> None:
        odd = PageSigns("http://a/odd", links=[LinkSigns("http://a/odd"), LinkSigns("http://a/b")])
        scores = await scorer.scores(odd, 0.0)
        assert "http://a/b" in scores
        assert scorer.faults == ("http://a/odd" not in scores)
        assert await scorer.scores(PageSigns("http://a/empty"), 0.0) == {}

    playing(play)
