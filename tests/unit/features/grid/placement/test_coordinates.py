"""Coordinates and who is near, on measured round trips and where distances are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.grid.placement.coordinates import (
    Coordinates,
    bounded,
    nearest,
    placed_hosts,
    predicted,
    settled,
    weighed,
)
from headgate_lab.papers.sarss2010.overlay import MEASURED, Overlay, fit, overlay

matrices = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).exponential(50, (40, 7))
)


def test_a_plane_with_access_lines_is_found_again() -> None:
    rng = np.random.default_rng(1)
    true = Coordinates(rng.normal(0, 50, (60, 2)), rng.uniform(5, 30, 60), np.ones(60))
    times = predicted(true, true)
    peers = np.array([np.delete(np.arange(60), k) for k in range(60)])
    found = settled(times, peers, 2000, rng)
    pairs = np.triu_indices(60, 1)
    error = np.abs(predicted(found, found) - times)[pairs] / times[pairs]
    assert np.median(error) < 0.03
    assert (found.heights >= 0.1).all()


def test_without_heights_points_stay_in_the_plane() -> None:
    rng = np.random.default_rng(1)
    times = np.full((4, 4), 10.0)
    points = settled(times, np.array([[1], [2], [3], [0]]), 50, rng, height=False)
    assert (points.heights == 0).all()
    assert np.isfinite(points.places).all()


def test_a_host_is_placed_where_its_round_trips_say() -> None:
    rng = np.random.default_rng(2)
    machines = Coordinates(rng.normal(0, 50, (30, 2)), np.full(30, 5.0), np.full(30, 0.1))
    host = Coordinates(np.array([[10.0, -20.0]]), np.array([8.0]), np.ones(1))
    measured = rng.permutation(30)[:12][None]
    seen = predicted(host, machines)[0, measured]
    placed = placed_hosts(machines, measured, seen, rng)
    assert predicted(placed, machines) == pytest.approx(predicted(host, machines), rel=0.15)


@pytest.mark.parametrize(("net", "most"), [("planetlab490", 0.10), ("seattle99", 0.19)])
def test_pairs_that_were_not_sampled_are_foreseen(net: str, most: float) -> None:
    found = fit(net, seed=1)
    assert found.with_height <= most
    assert found.with_height < found.without


@pytest.fixture(scope="module")
def planetlab() -> Overlay:
    return overlay("planetlab490", seed=1)


def test_twelve_connect_times_are_enough_to_be_near(planetlab: Overlay) -> None:
    by_way = {found.way: found for found in planetlab.assignments}
    assert by_way[MEASURED].mean_milliseconds <= 50
    assert by_way[MEASURED].most_over_mean <= 3
    assert by_way["random"].mean_milliseconds > 2 * by_way[MEASURED].mean_milliseconds


def test_can_takes_about_as_many_hops_as_theory_says(planetlab: Overlay) -> None:
    assert planetlab.can.mean_hops == pytest.approx(planetlab.can.theory_hops, rel=0.3)
    assert 4 <= planetlab.can.neighbours <= 7


@given(matrices)
def test_bounds_of_load_are_kept(times: np.ndarray) -> None:
    most = np.bincount(bounded(times), minlength=7).max()
    assert most <= np.ceil(1.25 * 40 / 7)
    assert weighed(times, 0.0).tolist() == nearest(times).tolist()
    spread = np.bincount(weighed(times, 1e9), minlength=7)
    assert spread.max() - spread.min() <= 1
