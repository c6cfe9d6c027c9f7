"""The web that changes by itself, and how fresh copies of it are."""

from __future__ import annotations

import pytest

from headgate.lab.worlds.changing_sites import ChangingPages, changing_sites
from headgate.lab.worlds.demo_answers import Asked, Response


class Hand:
    time = 0.0

    def __call__(self) -> float:
        return self.time


def test_pages_change_when_they_should_and_looks_are_written_down() -> None:
    now = Hand()
    pages = ChangingPages(3, now)
    site = changing_sites(pages)[0]
    path, changes = next((p, c) for p, c in pages.changes.items() if "harbour" in p and len(c) > 2)
    bodies = []
    for now.time in (changes[0] - 0.1, changes[0] + 0.01, changes[1] + 0.01):
        answer = site.answering(Asked(path))
        assert isinstance(answer, Response)
        bodies.append(answer.body)
    assert len(set(bodies)) == 3
    assert len(pages.looks[path]) == 3
    assert ChangingPages(3, now).changes == pages.changes


def test_the_score_of_one_page_by_hand() -> None:
    pages = ChangingPages(1, Hand())
    pages.changes = {"/a": (10.0, 12.0, 30.0), "/b": ()}
    pages.looks = {"/a": [5.0, 20.0], "/b": [1.0]}
    score = pages.score([4.0, 6.0, 11.0, 13.0, 21.0, 35.0])
    assert score.fresh == (0.5, 1.0, 0.5, 0.5, 1.0, 0.5)
    assert score.ages == (2.0, 0.0, 0.5, 1.5, 0.0, 2.5)
    assert score.freshness == pytest.approx(4.0 / 6)
    assert score.age == pytest.approx(6.5 / 6)
