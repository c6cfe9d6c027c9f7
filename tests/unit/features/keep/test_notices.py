"""Who is told when: order, fairness, pauses, bounds."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.features.keep import notices
from headgate.features.keep.notices import MOST_TRIES, NoticeOutcome, NoticeQueue, pause_after


def test_one_at_a_time_for_each_and_four_in_all() -> None:
    queue = NoticeQueue()
    for number in range(10):
        queue.add(number, f"hook {number % 5}")
    started = list(queue.start(0.0))
    assert started == [("hook 0", 0), ("hook 1", 1), ("hook 2", 2), ("hook 3", 3)]
    assert list(queue.start(0.0)) == []
    assert queue.ended("hook 0", NoticeOutcome.TOLD, 1.0)
    assert list(queue.start(1.0)) == [("hook 4", 4)], "who has waited, not who was just told"
    assert queue.delivered == 1


def test_a_listener_that_is_down_is_left_alone_for_longer_and_longer() -> None:
    queue = NoticeQueue()
    queue.add(1, "down")
    queue.add(2, "down")
    now = 0.0
    for tries in range(1, MOST_TRIES + 1):
        assert list(queue.start(now)) == [("down", 1)]
        assert queue.ended("down", NoticeOutcome.FAILED, now) == (tries == MOST_TRIES)
        assert queue.next_try() == now + pause_after(tries)
        assert list(queue.start(now + pause_after(tries) - 0.1)) == []
        now += pause_after(tries)
    assert (queue.failed, queue.waiting) == (1, 1)
    assert list(queue.start(now)) == [("down", 2)], "given up is the notice, not the listener"
    queue.ended("down", NoticeOutcome.TOLD, now)
    queue.add(3, "down")
    assert list(queue.start(now)) == [("down", 3)], "and well again, it waits no more"


def test_what_is_refused_is_not_tried_again() -> None:
    queue = NoticeQueue()
    queue.add(1, "hook")
    queue.add(2, "hook")
    list(queue.start(0.0))
    assert queue.ended("hook", NoticeOutcome.REFUSED, 0.0)
    assert list(queue.start(0.0)) == [("hook", 2)]
    assert queue.failed == 1


def test_too_many_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "MOST_WAITING", 3)
    queue = NoticeQueue()
    assert [queue.add(number, "x") for number in range(5)] == [True] * 3 + [False] * 2
    assert (queue.waiting, queue.dropped) == (3, 2)


def test_notices_go_to_whom_is_named_now() -> None:
    queue = NoticeQueue()
    for number, to in enumerate("aabbc"):
        queue.add(number, to)
    assert list(queue.start(0.0)) == [("a", 0), ("b", 2), ("c", 4)]
    assert not queue.ended("c", NoticeOutcome.FAILED, 0.0)
    assert queue.readdress({0: "d", 1: "d", 2: "b", 3: "", 4: "e"}.__getitem__) == [3]
    queue.check()
    assert queue.waiting == 4
    assert list(queue.start(0.0)) == [("d", 1), ("e", 4)], "c was waited for, e need not be"
    assert not queue.ended("a", NoticeOutcome.FAILED, 0.0), "it goes on where it was under way"
    assert queue.readdress(lambda _: "") == [0]
    queue.check()


class Telling(RuleBasedStateMachine):
    """Any order of events: each notice ends once, in the order of its listener."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = NoticeQueue()
        self.now = 0.0
        self.number = 0
        self.under_way: dict[str, int] = {}
        self.expected: dict[str, list[int]] = {}

    @rule(to=st.sampled_from("abcdef"))
    def add(self, to: str) -> None:
        self.number += 1
        if self.queue.add(self.number, to):
            self.expected.setdefault(to, []).append(self.number)

    @rule(seconds=st.floats(0, 5000))
    def start(self, seconds: float) -> None:
        self.now += seconds
        for to, number in self.queue.start(self.now):
            assert to not in self.under_way
            assert self.expected[to][0] == number
            self.under_way[to] = number

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), outcome=st.sampled_from(NoticeOutcome))
    def end(self, data: st.DataObject, outcome: NoticeOutcome) -> None:
        to = data.draw(st.sampled_from(sorted(self.under_way)))
        del self.under_way[to]
        if self.queue.ended(to, outcome, self.now):
            self.expected[to].pop(0)

    @rule(data=st.data())
    def readdress(self, data: st.DataObject) -> None:
        numbers = [number for waiting in self.expected.values() for number in waiting]
        named = {number: data.draw(st.sampled_from(["", *"abcdefg"])) for number in numbers}
        going = []
        for to, waiting in list(self.expected.items()):
            busy = waiting[:1] if to in self.under_way else []
            going += [number for number in waiting if named[number] != to and number not in busy]
            self.expected[to] = [number for number in waiting if number not in going]
        for number in sorted(going):
            if named[number]:
                self.expected.setdefault(named[number], []).append(number)
        gone = [number for number in sorted(going) if not named[number]]
        assert self.queue.readdress(named.__getitem__) == gone

    @invariant()
    def sound(self) -> None:
        self.queue.check()
        assert self.queue.waiting == sum(map(len, self.expected.values()))
        soon = self.queue.next_try()
        idle = any(self.expected[to] for to in self.expected if to not in self.under_way)
        assert (soon is not None) == (idle and len(self.under_way) < 4)


TestTelling = Telling.TestCase
TestTelling.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
