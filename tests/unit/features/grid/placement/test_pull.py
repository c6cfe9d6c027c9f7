"""Pulls played to the end: every site whole and once, within the proven bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.grid.placement.batches import FloatArray, longest_first
from headgate.features.grid.placement.pull import Pull, SplitRule
from headgate_lab.papers.pechnikov2017.playing import Played, play_pull

works = st.lists(st.floats(0.01, 1e3), min_size=1, max_size=30).map(np.array)
speeds = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6).map(np.array)
splittings = st.one_of(
    st.none(), st.builds(SplitRule, least=st.floats(0.5, 50.0), at_once=st.booleans())
)


def longest_first_pull(
    work: FloatArray, speeds: FloatArray, splitting: SplitRule | None = None, *, twice: bool = False
) -> Played:
    pull = Pull(longest_first(work).tolist(), work, len(speeds), splitting, twice=twice)
    return play_pull(pull, work, speeds)


@given(works, works, speeds, splittings, st.booleans())
def test_every_site_is_done_whole_and_once_whatever_the_estimates(
    estimates: FloatArray,
    work: FloatArray,
    speeds: FloatArray,
    splitting: SplitRule | None,
    twice: bool,
) -> None:
    estimates, work = estimates[: len(work)], work[: len(estimates)]
    order = longest_first(estimates).tolist()
    pull = Pull(order, estimates, len(speeds), splitting, twice=twice)
    played = play_pull(pull, work, speeds)
    done = np.bincount([p.site for p in played.done], [p.share for p in played.done])
    assert done == pytest.approx(np.ones(len(work)))
    assert len({part.number for part in played.done}) == len(played.done)
    assert played.makespan >= work.sum() / speeds.sum() * (1 - 1e-6)
    assert pull.next_part() is None


@given(works, works, speeds)
def test_a_pull_ends_within_list_scheduling_s_bound(
    estimates: FloatArray, work: FloatArray, speeds: FloatArray
) -> None:
    estimates, work = estimates[: len(work)], work[: len(estimates)]
    played = play_pull(
        Pull(longest_first(estimates).tolist(), estimates, len(speeds)), work, speeds
    )
    assert played.makespan <= (work.sum() / speeds.sum() + work.max() / speeds.min()) * (1 + 1e-9)
    assert played.lost_share == 0


@given(works, speeds)
def test_a_second_copy_never_makes_it_later(work: FloatArray, speeds: FloatArray) -> None:
    once, twice = (longest_first_pull(work, speeds, twice=copies) for copies in (False, True))
    assert twice.makespan <= once.makespan * (1 + 1e-9)


def test_a_slow_machine_s_last_site_is_done_by_a_fast_one() -> None:
    work, speeds = np.array([10.0, 9.0]), np.array([10.0, 0.1])
    assert longest_first_pull(work, speeds).makespan == pytest.approx(90)
    played = longest_first_pull(work, speeds, twice=True)
    assert played.makespan == pytest.approx(1.9)
    assert played.lost_share == pytest.approx(0.19 / 19)


def test_parts_of_one_site_run_one_after_another_unless_it_allows_more() -> None:
    work, speeds = np.array([100.0, 1.0]), np.ones(4)
    assert longest_first_pull(work, speeds, SplitRule(1.0)).makespan == pytest.approx(100)
    at_once = longest_first_pull(work, speeds, SplitRule(1.0, at_once=True))
    assert 101 / 4 <= at_once.makespan <= 101 / 4 + 1


def test_small_sites_first_ends_later_than_large_ones_first() -> None:
    work, speeds = np.array([1.0, 1.0, 1.0, 1.0, 4.0]), np.ones(2)
    small_first = play_pull(Pull(range(5), work, 2), work, speeds)
    assert (small_first.makespan, longest_first_pull(work, speeds).makespan) == (6, 4)
