"""URLseen and Pageseen."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headgate.frontier.seen_urls import HashSet, PageSeen, UrlSeen, url_hashes

_urls = st.integers(0, 500).map(lambda k: f"http://a.org/{k}")


@given(st.lists(st.lists(_urls, max_size=30)))
def test_a_url_is_met_for_the_first_time_once(pages: list[list[str]]) -> None:
    seen = UrlSeen()
    known: dict[str, None] = {}
    for links in pages:
        expected = [url for url in dict.fromkeys(links) if url not in known]
        assert seen.add(links) == expected
        known.update(dict.fromkeys(links))
    assert len(seen) == len(known)
    assert all(url in seen for url in known)
    assert "http://a.org/never" not in seen


@given(st.lists(_urls))
def test_a_filled_set_has_met_what_it_was_filled_with(urls: list[str]) -> None:
    seen = UrlSeen()
    seen.fill(url_hashes(iter(urls)))
    seen.check()
    assert seen.add(urls) == []


def test_hashes_of_no_urls() -> None:
    seen = UrlSeen()
    seen.fill(url_hashes([]))
    assert len(seen) == 0


# From 2 on: a digest of zeros, which nobody will meet, stands for that of 1.
@given(st.lists(st.integers(2, 255).map(lambda first: bytes([first]) + b"\0" * 15)))
def test_contents_are_counted_by_digest(digests: list[bytes]) -> None:
    pages = PageSeen()
    for position, digest in enumerate(digests):
        assert pages.add(digest) == digests[:position].count(digest)
    assert len(pages) == len(set(digests))


# HashSet against Python's own set.


# Few enough to meet again, and crowded into few slots: low bits choose the segment.
_crowded = st.integers(1, 40).map(lambda k: k << 6)
_hashes = st.one_of(st.integers(1, 2**64 - 1), st.integers(1, 300), _crowded)


class HashSetMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.hashes = HashSet()
        self.hashes.fill(np.arange(2**20, 2**20 + 900, dtype=np.uint64))  # soon no longer few
        self.model = set(range(2**20, 2**20 + 900))

    @rule(batch=st.lists(_hashes, max_size=150))
    def add(self, batch: list[int]) -> None:
        expected = []
        for position, value in enumerate(batch):
            if value not in self.model:
                expected.append(position)
                self.model.add(value)
        assert self.hashes.add(batch) == expected

    @rule(batch=st.lists(_hashes, max_size=150))
    def fill(self, batch: list[int]) -> None:
        self.hashes.fill(np.array(batch, np.uint64))
        self.model.update(batch)

    @rule(value=_hashes)
    def ask(self, value: int) -> None:
        assert (value in self.hashes) == (value in self.model)

    @invariant()
    def holds(self) -> None:
        self.hashes.check()
        assert len(self.hashes) == len(self.model)


TestHashSet = HashSetMachine.TestCase
TestHashSet.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 10_000))
def test_growth_keeps_every_hash(seed: int, count: int) -> None:
    values = np.random.default_rng(seed).integers(1, 2**64, count, np.uint64)
    one_by_one, at_once = HashSet(), HashSet()
    one_by_one.add(values.tolist())
    at_once.fill(values)
    for hashes in (one_by_one, at_once):
        hashes.check()
        assert len(hashes) == len(set(values.tolist()))
        assert hashes.add(values.tolist()) == []


def test_probing_runs_over_the_end_of_a_segment() -> None:
    size = 33
    last_slot = [value for value in range(64, 2**22, 64) if value % size == size - 1][:15]
    one_by_one, at_once = HashSet(), HashSet()
    assert one_by_one.add(last_slot) == list(range(15))
    at_once.fill(np.array(last_slot, np.uint64))
    for hashes in (one_by_one, at_once):
        hashes.check()
        assert all(value in hashes for value in last_slot)


def test_a_million_hashes_take_less_than_twenty_bytes_each() -> None:
    hashes = HashSet()
    hashes.fill(np.random.default_rng(1).integers(1, 2**64, 1_000_000, np.uint64))
    slots = sum(size for _, size in hashes._segments)
    assert 8 * slots / len(hashes) < 20
