"""URLtodo with a focus against a plain dictionary; the order a focused frontier fetches in."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier import priority_queue
from headgate.frontier.events import Fetch, PageFetched, Redirected, Seeds, Slots, Tick
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.priority_queue import ScoredQueue, level_of
from headgate.frontier.scope import Scope
from headgate.frontier.url_queue import MemorySpill

_scores = st.floats(0, 1)


class ScoredTodoMachine(RuleBasedStateMachine):
    """Each URL comes out once, never after one that was better by then."""

    @initialize(memory=st.integers(4, 40), depth_first=st.booleans())
    def start(self, memory: int, depth_first: bool) -> None:
        self.todo = ScoredQueue(MemorySpill(), memory, depth_first=depth_first)
        self.model: dict[str, int] = {}
        self.number = 0

    @rule(depth=st.integers(0, 3), scores=st.lists(_scores, max_size=30))
    def accept(self, depth: int, scores: list[float]) -> None:
        found = [f"u{self.number + k}" for k in range(len(scores))]
        self.number += len(scores)
        placed = self.todo.accept(depth, found, dict(zip(found, scores, strict=True)))
        assert list(placed.levels) == list(map(level_of, scores))
        assert not placed.raised
        for url, score in zip(found, scores, strict=True):
            self.model[url] = self.todo.lanes.lane(depth, level_of(score))

    @rule(picks=st.lists(st.tuples(st.integers(0, 200), _scores), max_size=10))
    def meet_again(self, picks: list[tuple[int, float]]) -> None:
        """URLs never met, long taken, or waiting."""
        scores = {f"u{pick}": score for pick, score in picks}
        placed = self.todo.accept(9, [], scores)
        lanes = self.todo.lanes
        better = {}
        for url, score in scores.items():
            if url in self.model and level_of(score) < lanes.level(self.model[url]):
                better[url] = level_of(score)
                self.model[url] = lanes.lane(lanes.depth(self.model[url]), level_of(score))
        assert dict(zip(placed.raised, placed.raised_levels, strict=True)) == better

    @rule(most=st.integers(1, 20), back=st.booleans())
    def take(self, most: int, back: bool) -> None:
        lane = self.todo.lane
        taken = self.todo.pop(most)
        for url in taken:
            assert self.model.pop(url) == lane
            assert all(lane <= other for other in self.model.values())
        if back and taken:
            assert lane is not None
            self.todo.put_back(lane, taken)
            self.model.update(dict.fromkeys(taken, lane))

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "todo"):
            self.todo.check()
            assert len(self.todo) == len(self.model)


TestScoredTodo = ScoredTodoMachine.TestCase
TestScoredTodo.settings = settings(max_examples=60, deadline=None)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority_queue, "_MOST_REMEMBERED", 10)
    todo = ScoredQueue(MemorySpill(), 100, depth_first=False)
    found = [f"u{k}" for k in range(30)]
    todo.accept(0, found, dict.fromkeys(found, 0.2))
    placed = todo.accept(1, [], dict.fromkeys(found, 0.9))
    assert placed.raised == found[20:]
    todo.check()
    taken = []
    while todo.lane is not None:
        taken += todo.pop(7)
    assert sorted(taken) == sorted(found)
    assert taken[:10] == found[20:]


def focused(slots: int = 1, scope: Scope | None = None) -> Driver:
    driver = Driver(scope, rules(slots=slots, scored=True))
    driver.send(Seeds([HOME]))
    return driver


def fetched_in_order(driver: Driver) -> list[str]:
    order = []
    while driver.flights:
        url = driver.flights[0].url
        order.append(url.removeprefix(HOME))
        driver.send(PageFetched(url))
    return order


def scored(**scores: float) -> dict[str, float]:
    return {HOME + path: score for path, score in scores.items()}


def test_the_best_goes_first_and_ties_by_depth_and_arrival() -> None:
    driver = focused()
    links = scored(poor=0.1, good=0.8, best=0.95, same=0.8)
    driver.send(PageFetched(HOME, list(links), scores=links))
    deeper = scored(deep=0.8, other=0.9)
    driver.send(PageFetched(HOME + "best", list(deeper), scores=deeper))
    assert fetched_in_order(driver) == ["other", "good", "same", "deep", "poor"]


def test_a_page_met_again_moves_up() -> None:
    driver = focused()
    links = scored(a=0.9, b=0.5, c=0.1)
    driver.send(PageFetched(HOME, list(links), scores=links))
    again = scored(c=0.8, b=0.2)
    driver.send(PageFetched(HOME + "a", list(again), scores=again))
    assert driver.last.raised == [HOME + "c"]
    assert fetched_in_order(driver) == ["c", "b"]
    assert driver.frontier.tally.to_do == 0


def test_what_lies_on_the_bench_makes_way_for_better() -> None:
    slow = rules(slots=6, scored=True, pace=PolitenessRules(connections=1, delay=10.0))
    driver = Driver(None, slow)
    driver.send(Seeds([HOME]))
    links = scored(a=0.9, **{f"p{k}": 0.3 for k in range(20)})
    driver.send(PageFetched(HOME, list(links), scores=links))
    driver.now = 10.0
    driver.send(Tick())
    better = scored(b=0.8)
    driver.send(PageFetched(HOME + "a", list(better), scores=better))
    driver.now = 20.0
    driver.send(Tick())
    assert driver.in_flight == [HOME + "b"]


def test_with_a_maximum_depth_scores_order_within_each_depth() -> None:
    driver = focused(scope=Scope([HOME], depth=2))
    links = scored(a=0.9, b=0.1)
    driver.send(PageFetched(HOME, list(links), scores=links))
    deeper = scored(deep=1.0)
    driver.send(PageFetched(HOME + "a", list(deeper), scores=deeper))
    assert fetched_in_order(driver) == ["b", "deep"]


def test_a_redirect_keeps_the_level_and_unscored_links_are_neutral() -> None:
    driver = focused()
    driver.send(PageFetched(HOME, urls("x", "good"), scores=scored(good=0.9)))
    driver.send(Redirected(HOME + "good", HOME + "target"))
    assert driver.flights == [Fetch(HOME + "target", 1, hops=1, level=level_of(0.9))]
    driver.send(PageFetched(HOME + "target"))
    assert driver.flights == [Fetch(HOME + "x", 1, level=level_of(0.5))]


def test_a_resumed_frontier_keeps_the_order() -> None:
    driver = focused()
    links = scored(a=0.95, b=0.5, c=0.1, d=0.3)
    driver.send(PageFetched(HOME, list(links), scores=links))
    again = scored(c=0.8)
    driver.send(PageFetched(HOME + "a", list(again), scores=again))
    after = Driver(None, rules(slots=1, scored=True))
    after.frontier.replay(lambda: driver.journal)
    after.frontier.check()
    after.send(Slots(1))
    assert fetched_in_order(after) == ["c", "b", "d"]
