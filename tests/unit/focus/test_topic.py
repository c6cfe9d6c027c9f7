"""Relevance and link scores: what must rise when a page, or a link, says more of the topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.focus.signs import LinkSigns, PageSigns
from headgate.focus.topic import RELEVANT, Topic, TopicOrder

FILLER = "the committee met again and discussed budgets schedules and minutes of the last meeting "
ABOUT = "Food safety is regulated. Safe foods need regulation, and food must be safe. " + FILLER
ASIDE = "Somebody brought food. " + FILLER * 3


def test_a_page_about_the_topic_is_relevant_and_an_aside_is_not() -> None:
    topic = Topic("food safety")
    assert topic.relevance(FILLER) == 0.0
    assert topic.relevance(ABOUT * 3) >= RELEVANT > topic.relevance(ASIDE)


def test_words_match_by_their_stems_in_the_pages_own_language() -> None:
    topic = Topic("regulation")
    assert topic.relevance("they regulated " * 5) > RELEVANT
    german = Topic("Vorschriften")
    assert german.relevance("eine Vorschrift gilt " * 5, "de-DE") > RELEVANT
    assert german.relevance("eine Vorschrift gilt " * 5, "en") == 0.0


@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=8))
def test_any_text_has_a_relevance_from_0_to_1(text: str, words: str, language: str) -> None:
    topic = Topic(words)
    for _ in range(2):
        assert 0.0 <= topic.relevance(text, language) <= 1.0
    assert 0.0 <= topic.match(text, language) <= 1.0


@given(st.integers(1, 30), st.integers(1, 30))
def test_more_of_the_topic_in_the_same_length_is_never_less(fewer: int, more: int) -> None:
    fewer, more = sorted((fewer, more))

    def relevance(times: int) -> float:
        topic = Topic("food")
        topic.relevance(FILLER)
        return topic.relevance("food " * times + "other " * (60 - times))

    assert relevance(fewer) <= relevance(more)


def test_rare_words_weigh_more() -> None:
    topic = Topic("common rare")
    for _ in range(50):
        topic.relevance("common things " + FILLER)
    assert topic.match("rare") > topic.match("common") > 0.0
    assert topic.match("common rare") == pytest.approx(1.0)


def test_example_pages_find_their_like() -> None:
    examples = ["salmonella in eggs, eggs and poultry; salmonella outbreaks " * 5] * 2
    topic = Topic("", examples)
    like = topic.relevance("an outbreak of salmonella from poultry and eggs " * 4)
    assert like > RELEVANT > topic.relevance(FILLER * 4)


def test_a_topic_without_a_word_is_empty() -> None:
    assert Topic("the of").empty
    assert not Topic("food").empty


def scores(page: PageSigns, relevance: float = 0.0) -> dict[str, float]:
    return TopicOrder(Topic("food safety")).scores(page, relevance)


def link(url: str = "http://a/x", anchor: str = "", around: str = "") -> LinkSigns:
    return LinkSigns(url, anchor, around)


def score(one: LinkSigns, relevance: float = 0.0, came_with: float = 0.0) -> float:
    page = PageSigns("http://a/", links=[one], came_with=came_with)
    return scores(page, relevance)[one.url]


def test_every_sign_speaks_for_a_link() -> None:
    nothing = score(link())
    assert nothing == 0.0
    signs = [
        score(link(anchor="Food Safety")),
        score(link(url="http://a/foodSafety.html")),
        score(link(around="all about food safety")),
        score(link(), relevance=1.0),
        score(link(), came_with=1.0),
    ]
    assert min(signs) > 0.2
    assert signs[0] == max(signs)
    everything = link("http://a/food-safety", "food safety", "food safety")
    assert max(signs) < score(everything, 1.0, 1.0) <= 1.0


def test_what_is_inherited_fades() -> None:
    came_with, seen = 1.0, []
    for _ in range(6):
        came_with = score(link(), came_with=came_with)
        seen.append(came_with)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < 0.01
