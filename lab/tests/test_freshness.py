"""The replay of real changes."""

from __future__ import annotations

import pytest

from headgate_lab.papers.freshness.changes import DAYS, halves, watched_pages
from headgate_lab.papers.freshness.replay import Web, replay
from headgate_lab.papers.freshness.rivals import HEADGATE, POLICIES, UNIFORM


@pytest.fixture(scope="module")
def web() -> Web:
    return Web.of(halves(watched_pages())[1], seed=0, alike=False)


def test_the_pages_are_those_of_the_archive(web: Web) -> None:
    pages = watched_pages()
    assert len(pages) == 835
    assert sum(len(page.changes) for page in pages) == 25_911
    assert DAYS == 1416
    assert len(web.pages) == 418


def test_uniform_looks_are_as_fresh_as_an_independent_replay_found(web: Web) -> None:
    """It has no free choices, so this checks the replay itself."""
    found = replay(web, POLICIES[UNIFORM](web), 30)
    assert found.freshness == pytest.approx(0.8926, abs=0.003)
    assert found.age == pytest.approx(1.55, rel=0.05)
    assert found.used == pytest.approx(1.0, abs=0.01)


def test_headgate_keeps_important_pages_fresher_for_the_same_bytes(web: Web) -> None:
    ours = replay(web, POLICIES[HEADGATE](web), 120)
    uniform = replay(web, POLICIES[UNIFORM](web), 120)
    assert ours.used == pytest.approx(1.0, abs=0.01)
    assert 1 - ours.weighted_freshness <= 0.70 * (1 - uniform.weighted_freshness)
    assert ours.weighted_age <= 0.52 * uniform.weighted_age
    assert ours.freshness >= uniform.freshness
