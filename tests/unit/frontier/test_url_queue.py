"""URLtodo against a plain list sorted by depth."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headgate.frontier.url_queue import MemorySpill, UrlQueue
from headgate.model.errors import WorldFault


class TodoMachine(RuleBasedStateMachine):
    """Pages come in breadth first, as a crawl brings them: never above the depth being read."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[int, list[str]] = {}
        self.number = 0
        self.floor = 0

    @initialize(memory=st.integers(1, 40))
    def start(self, memory: int) -> None:
        self.spill = MemorySpill()
        self.todo = UrlQueue(self.spill, memory)

    @rule(deeper=st.integers(0, 3), count=st.integers(0, 60))
    def put(self, deeper: int, count: int) -> None:
        urls = [f"u{self.number + k}" for k in range(count)]
        self.number += count
        depth = self.floor + deeper
        self.todo.put(depth, urls)
        if urls:
            self.model.setdefault(depth, []).extend(urls)

    @rule(most=st.integers(1, 30))
    def take(self, most: int) -> None:
        taken = self.todo.pop(most)
        assert len(taken) <= most
        if not self.model:
            assert taken == []
            return
        self.floor = min(self.model)
        waiting = self.model[self.floor]
        assert taken
        assert taken == waiting[: len(taken)]
        del waiting[: len(taken)]
        if not waiting:
            del self.model[self.floor]

    @rule(most=st.integers(1, 30))
    def take_spread(self, most: int) -> None:
        taken = self.todo.pop_spread(most)
        assert len(taken) == len(set(taken)) <= most
        assert bool(taken) == bool(self.model)
        if taken:
            self.floor = min(self.model)
            waiting = self.model[self.floor]
            assert set(taken) <= set(waiting)
            self.model[self.floor] = [url for url in waiting if url not in taken]
            if not self.model[self.floor]:
                del self.model[self.floor]

    @invariant()
    def agrees(self) -> None:
        self.todo.check()
        assert len(self.todo) == sum(len(urls) for urls in self.model.values())
        assert self.todo.lane == min(self.model, default=None)
        assert len(self.spill) == len(self.todo) - self.todo.in_memory


TestTodo = TodoMachine.TestCase
TestTodo.settings = settings(max_examples=50, deadline=None)


class InterruptedTodoMachine(RuleBasedStateMachine):
    """URLs come in at any depth: order within a depth may give, the rest may not."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[int, set[str]] = {}
        self.number = 0
        self.todo = UrlQueue(MemorySpill(), 12)

    @rule(depth=st.integers(0, 9), count=st.integers(1, 30))
    def put(self, depth: int, count: int) -> None:
        urls = [f"u{self.number + k}" for k in range(count)]
        self.number += count
        self.todo.put(depth, urls)
        self.model.setdefault(depth, set()).update(urls)

    @rule(most=st.integers(1, 20))
    def take(self, most: int) -> None:
        if self.model:
            depth = min(self.model)
            taken = set(self.todo.pop(most))
            assert taken
            assert taken <= self.model[depth]
            self.model[depth] -= taken
            if not self.model[depth]:
                del self.model[depth]

    @invariant()
    def agrees(self) -> None:
        self.todo.check()
        assert len(self.todo) == sum(len(urls) for urls in self.model.values())


TestInterruptedTodo = InterruptedTodoMachine.TestCase
TestInterruptedTodo.settings = settings(max_examples=50, deadline=None)


def test_a_small_site_never_touches_the_spill() -> None:
    class NoSpill(MemorySpill):
        def append(self, lane: int, urls: Sequence[str]) -> None:
            raise AssertionError(f"{len(urls)} URLs of lane {lane} spilled")

    todo = UrlQueue(NoSpill(), 1000)
    for depth in range(4):
        todo.put(depth, [f"{depth}/{k}" for k in range(250)])
    assert todo.in_memory == 1000
    assert [len(todo.pop(1000)) for _ in range(5)] == [250, 250, 250, 250, 0]


def test_each_url_leaves_memory_at_most_once() -> None:
    class CountingSpill(MemorySpill):
        appended = 0

        def append(self, lane: int, urls: Sequence[str]) -> None:
            self.appended += len(urls)
            super().append(lane, urls)

    spill = CountingSpill()
    todo = UrlQueue(spill, 1000)
    todo.put(0, ["seed"])
    accepted = 1
    while len(todo):
        depth = todo.lane
        assert depth is not None
        for url in todo.pop(50):
            if depth < 4:
                todo.put(depth + 1, [f"{url}/{k}" for k in range(12)])
                accepted += 12
    assert spill.appended < accepted


def test_a_full_disk_loses_no_url() -> None:
    class FullSpill(MemorySpill):
        full = False

        def append(self, lane: int, urls: Sequence[str]) -> None:
            if self.full:
                raise WorldFault("no space left")
            super().append(lane, urls)

    spill = FullSpill()
    todo = UrlQueue(spill, 8)
    todo.put(0, [str(k) for k in range(20)])
    spill.full = True
    with pytest.raises(WorldFault):
        todo.put(0, [str(k) for k in range(20, 40)])
    spill.full = False
    taken = []
    while len(todo):
        taken += todo.pop(7)
    assert taken == [str(k) for k in range(40)]
