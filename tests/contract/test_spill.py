"""What every spill must do, whatever it is made of."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from headgate.frontier.url_queue import MemorySpill, Spill
from headgate.storage.spill import DiskSpill

SMALL_SEGMENT = 300


@pytest.fixture(params=["memory", "disk", "disk in many files"])
def spill(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Spill]:
    if request.param == "memory":
        yield MemorySpill()
        return
    disk = DiskSpill(tmp_path, SMALL_SEGMENT) if "many" in request.param else DiskSpill(tmp_path)
    yield disk
    disk.check()
    disk.close()
    assert list(tmp_path.iterdir()) == []


def test_a_lane_gives_chunks_back_in_their_order(spill: Spill) -> None:
    chunks = [[f"http://site.example/{k}/{n}" for n in range(50)] for k in range(20)]
    for chunk in chunks:
        spill.append(3, chunk)
    assert [spill.pop(3) for _ in chunks] == chunks


def test_lanes_do_not_mix(spill: Spill) -> None:
    for k in range(10):
        spill.append(k % 3, [f"u{k}"])
    assert [spill.pop(lane) for lane in (2, 0, 1, 0, 2)] == [
        ["u2"],
        ["u0"],
        ["u1"],
        ["u3"],
        ["u5"],
    ]


def test_a_chunk_may_be_any_sequence_of_any_text(spill: Spill) -> None:
    urls = ("", "http://x/ä%20?q=\n", "漢字" * 1000)
    spill.append(0, urls)
    assert spill.pop(0) == list(urls)


def test_a_chunk_changed_after_it_was_given_stays_as_it_was(spill: Spill) -> None:
    urls = ["a", "b"]
    spill.append(0, urls)
    urls.append("c")
    assert spill.pop(0) == ["a", "b"]


def test_a_lane_can_be_filled_again_after_it_was_empty(spill: Spill) -> None:
    for k in range(5):
        spill.append(1, [str(k)])
        assert spill.pop(1) == [str(k)]


def test_any_sequence_of_calls(tmp_path: Path) -> None:
    """The disk answers like the fake, and its invariants hold after every step."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.fake: dict[int, deque[list[str]]] = {}
            self.disk = DiskSpill(tmp_path, SMALL_SEGMENT)

        @rule(lane=st.integers(0, 3), urls=st.lists(st.text(max_size=50), min_size=1, max_size=9))
        def append(self, lane: int, urls: list[str]) -> None:
            self.disk.append(lane, urls)
            self.fake.setdefault(lane, deque()).append(urls)

        @rule(lane=st.integers(0, 3))
        def take(self, lane: int) -> None:
            if self.fake.get(lane):
                assert self.disk.pop(lane) == self.fake[lane].popleft()

        @invariant()
        def sound(self) -> None:
            self.disk.check()

        def teardown(self) -> None:
            self.disk.close()

    run_state_machine_as_test(Machine, settings=settings(max_examples=30, deadline=None))


def count_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_space_is_given_back_while_the_spill_is_in_use(tmp_path: Path) -> None:
    spill = DiskSpill(tmp_path, segment_bytes=10_000)
    open_files = count_open_files()
    for k in range(500):
        spill.append(0, [os.urandom(500).hex()])
        if k >= 20:
            spill.pop(0)
    assert count_open_files() - open_files <= 4
    spill.close()
    assert count_open_files() == open_files
