"""The web that changes by itself, and how fresh copies of it are."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.features.demo.keep import (
    ChangingPage,
    ChangingSite,
    ChangingWeb,
    Law,
    demo_changing_sites,
    drawn_changes,
)
from headgate.features.demo.sites import DemoRequest, Response


class Hand:
    time = 0.0

    def __call__(self) -> float:
        return self.time


def test_pages_change_when_they_should_and_looks_are_written_down() -> None:
    now = Hand()
    web = ChangingWeb(demo_changing_sites(3), now)
    site = web.served()[0]
    page = next(page for page in web.sites[0].pages if len(page.changes) > 2)
    bodies = []
    for now.time in (page.changes[0] - 0.1, page.changes[0] + 0.01, page.changes[1] + 0.01):
        answer = site.answering(DemoRequest(page.path))
        assert isinstance(answer, Response)
        bodies.append(answer.body)
    assert len(set(bodies)) == 3
    assert len(web.looks[page.path]) == 3
    assert not web.all_fetched()
    assert demo_changing_sites(3) == list(web.sites)


@pytest.mark.parametrize("law", Law)
def test_every_law_keeps_its_mean_time_between_changes(law: Law) -> None:
    chance = np.random.default_rng(1)
    drawn = [drawn_changes(chance, law, 10.0, 1_000.0) for _ in range(200)]
    assert np.mean([len(changes) for changes in drawn]) == pytest.approx(100.0, rel=0.05)
    assert all(list(changes) == sorted(changes) for changes in drawn)
    gaps = np.concatenate([np.diff(changes) for changes in drawn])
    spread = {Law.CHANCE: 1.0, Law.CLOCK: 0.0, Law.BURSTS: 2.3}[law]
    assert gaps.std() / gaps.mean() == pytest.approx(spread, abs=0.2)


def test_the_score_of_two_pages_by_hand() -> None:
    pages = (ChangingPage("/a", 100, (10.0, 12.0, 30.0)), ChangingPage("/b", 100, ()))
    web = ChangingWeb([ChangingSite("site", "", pages, True)], Hand())
    web.looks = {"/a": [5.0, 20.0], "/b": [1.0]}
    score = web.score([4.0, 6.0, 11.0, 13.0, 21.0, 35.0])
    assert score.fresh == (0.5, 1.0, 0.5, 0.5, 1.0, 0.5)
    assert score.ages == (2.0, 0.0, 0.5, 1.5, 0.0, 2.5)
    assert score.freshness == pytest.approx(4.0 / 6)
    assert score.age == pytest.approx(6.5 / 6)
