"""Which site goes from a busy process to an idle one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.workers import ProcessLoad, SiteMove, best_move, worth_a_look

IDLE = ProcessLoad({})
LEFT = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1e9), max_size=8)
PLACES = st.lists(
    st.builds(
        ProcessLoad,
        left=LEFT,
        fixed=st.frozensets(st.sampled_from("abcdefgh")),
        cores=st.none() | st.floats(0, 2),
        rate=st.floats(0, 1e8),
    ),
    min_size=1,
    max_size=4,
)


def busy(**left: float) -> ProcessLoad:
    """One that gets through 1 MB/s."""
    return ProcessLoad({site: 1e6 * seconds for site, seconds in left.items()}, cores=1.2, rate=1e6)


@pytest.mark.parametrize(
    ("places", "site"),
    [
        ([busy(a=3, b=3), IDLE], "a"),
        ([busy(a=1, b=2, c=4), IDLE], "c"),
        ([busy(a=1, b=2, c=40), IDLE], "c"),
        ([busy(a=1, b=2, c=2.5, d=8), IDLE], "d"),
        ([IDLE, busy(a=1, b=1), busy(c=4, d=4)], "c"),
    ],
)
def test_what_lets_the_most_be_done_at_once_goes(places: list[ProcessLoad], site: str) -> None:
    move = best_move(places)
    assert move is not None
    assert move.site == site
    assert site in places[move.source].left
    assert places[move.target] is IDLE


@pytest.mark.parametrize(
    "places",
    [
        [busy(a=60), IDLE],
        [busy(a=60, b=0.1), IDLE],
        [busy(a=60, b=60), busy(c=0.1)],
        [ProcessLoad({"a": 6e7, "b": 6e7}, cores=0.4, rate=1e6), IDLE],
        [ProcessLoad({"a": 6e7, "b": 6e7}, cores=None, rate=1e6), IDLE],
        [ProcessLoad({"a": 6e7, "b": 6e7}, frozenset("ab"), cores=1.0, rate=1e6), IDLE],
        [ProcessLoad({"a": 6e7, "b": 6e7}, cores=1.0, rate=0.0), IDLE],
        [busy(a=60, b=60), ProcessLoad({"c": 1e6}, cores=0.4)],
        [busy(a=60, b=60), ProcessLoad({"c": 1e6})],
    ],
    ids=[
        "its only site", "too little", "nobody is idle", "it waits for the line", "just begun",
        "they may not", "nothing comes", "half idle", "just given one",
    ],
)  # fmt: skip
def test_what_is_not_worth_it_stays(places: list[ProcessLoad]) -> None:
    assert best_move(places) is None


def test_a_process_that_only_waits_takes_one_as_one_without_sites_does() -> None:
    waits = ProcessLoad({"slow": 1e9}, cores=0.05, rate=100.0)
    assert best_move([waits, busy(a=3, b=3)]) == SiteMove("a", 1, 0)
    assert best_move([waits, busy(a=3, b=3), IDLE]) == SiteMove("a", 1, 2)


@given(PLACES)
def test_no_core_is_idle_while_a_site_could_use_it(places: list[ProcessLoad]) -> None:
    move = best_move(places)
    assert move is None or worth_a_look([(len(place.left), place.cores) for place in places])
    gains = {
        (source, site): min(left, sum(place.left.values()) - left) / place.rate
        for source, place in enumerate(places)
        for site, left in place.left.items()
        if place.busy and site not in place.fixed
    }
    idle = [index for index, place in enumerate(places) if place.idle]
    if move is None:
        assert not idle or all(gain <= 0.5 + 1e-9 for gain in gains.values())
        return
    assert move.target in idle
    assert gains[move.source, move.site] == pytest.approx(max(gains.values()))


@given(PLACES)
def test_a_site_does_not_go_to_and_fro(places: list[ProcessLoad]) -> None:
    """Where it went there is something to do, and until that is measured nobody takes it away."""
    move = best_move(places)
    if move is None:
        return
    source, target = places[move.source], places[move.target]
    stays = {site: left for site, left in source.left.items() if site != move.site}
    places[move.source] = ProcessLoad(stays, source.fixed)
    places[move.target] = ProcessLoad(
        {**target.left, move.site: source.left[move.site]}, target.fixed
    )
    again = best_move(places)
    assert again is None or (again.source, again.site) != (move.target, move.site)
