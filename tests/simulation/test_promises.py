"""Deadlines that were missed by a decision, in virtual time: the trials of `bench.promises`."""

from __future__ import annotations

import numpy as np
import pytest
from bench.promises import SCENARIOS, plain, star, tree
from bench.virtual_promises import crawl_virtually, lateness


@pytest.mark.parametrize(
    ("scenario", "run"),
    [
        pytest.param("interrupted, resumed", 3, id="a server measured by its robots.txt"),
        pytest.param("star, chain, tree", 2, id="a chain parked for its likely bytes"),
        pytest.param("exact sizes", 1, id="a site at rate 0 taken for idle"),
        pytest.param("nothing known", 4, id="the middle of a wide range taken as certain"),
        pytest.param("one huge page", 0, id="a page under way counted as one of mean size"),
    ],
)
def test_a_deadline_that_hindsight_meets_is_met(scenario: str, run: int) -> None:
    trial = SCENARIOS[scenario](np.random.default_rng([1, run]))
    report = crawl_virtually(trial)
    assert lateness(trial, report).max() == 0.0


def test_many_sites_that_nobody_knows_are_not_given_up_for_what_they_may_have() -> None:
    """Most of them cannot be looked at before the first deadlines come."""
    trial = plain(np.random.default_rng([1, 0]), (star, tree) * 50, told=False)
    report = crawl_virtually(trial)
    assert lateness(trial, report).max() == 0.0
