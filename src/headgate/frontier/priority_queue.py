"""URLtodo with a focus: a priority queue by score.

Scores from 0 to 1 become 16 levels, so that a step costs the same however many URLs wait, and the
queue is divided between memory and spill as without a focus. Within a level, the least depth comes
first, then the order of arrival. URLs that an earlier run fetched have 16 levels of their own after
those of the others. If the site has a maximum depth, depth goes before level: which pages are
crawled must not depend on their order (see ``waiting_urls``).

A URL found again with a better score moves up: it is queued once more, and its stale copy is
skipped when it is taken. Memory for that is bounded: the lanes of the latest 25,000 to 50,000 URLs
are remembered, by hash; older URLs do not move. At most 50,000 URLs may have stale copies.

    waiting, before   hash ► lane                      of recent URLs, in two generations
    moved             hash ► (lane or taken, copies)   of all with stale copies
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec
from xxhash import xxh3_64_intdigest

from headgate.frontier.url_queue import Spill, UrlQueue

__all__ = [
    "LEVELS",
    "NEUTRAL",
    "Lanes",
    "Placed",
    "ScoredQueue",
    "Scores",
    "level_of",
    "score_of",
]

LEVELS = 16
NEUTRAL = 0.5
"""The score of a URL without one."""

Scores = Mapping[str, float]
"""URL to score, from 0 to 1."""

_MOST_REMEMBERED = 50_000
_DEPTHS = 1 << 32
_TAKEN = -1
_ALL_LEVELS = 2 * LEVELS
"""Including those of URLs that an earlier run fetched."""


def level_of(score: float) -> int:
    """The level of a score, from 0 (best) to 15.

    >>> level_of(1.0), level_of(0.5), level_of(0.0), level_of(7.0), level_of(float("nan"))
    (0, 7, 15, 0, 15)
    """
    if not score > 0:
        return LEVELS - 1
    return LEVELS - 1 - min(int(min(score, 1.0) * LEVELS), LEVELS - 1)


def score_of(level: int) -> float:
    """The middle of a level.

    >>> score_of(level_of(0.5)), score_of(level_of(0.5) + LEVELS)
    (0.53125, 0.53125)
    """
    return (LEVELS - level % LEVELS - 0.5) / LEVELS


class Lanes(msgspec.Struct, frozen=True):
    """Encodes depth and level as the number of a lane."""

    depth_first: bool

    def lane(self, depth: int, level: int) -> int:
        return depth * _ALL_LEVELS + level if self.depth_first else level * _DEPTHS + depth

    def depth(self, lane: int) -> int:
        return lane // _ALL_LEVELS if self.depth_first else lane % _DEPTHS

    def level(self, lane: int) -> int:
        return lane % _ALL_LEVELS if self.depth_first else lane // _DEPTHS


class Placed(msgspec.Struct, frozen=True):
    """Places in the queue, for the journal."""

    levels: bytes = b""
    """Of the URLs found, in order."""
    raised: Sequence[str] = ()
    """URLs found earlier that moved up, and their new levels."""
    raised_levels: bytes = b""


class ScoredQueue:
    """A `UrlQueue` whose lanes are levels and depths."""

    def __init__(self, spill: Spill, memory: int, *, depth_first: bool) -> None:
        self.lanes = Lanes(depth_first)
        self._queue = UrlQueue(spill, memory)
        self._waiting: dict[int, int] = {}
        self._before: dict[int, int] = {}
        """The generation before ``_waiting``."""
        self._moved: dict[int, tuple[int, int]] = {}
        self._copies = 0
        """Stale copies in the queue."""

    def __len__(self) -> int:
        return len(self._queue) - self._copies

    @property
    def in_memory(self) -> int:
        return self._queue.in_memory

    @property
    def lane(self) -> int | None:
        """The lane of what comes next, which may be a stale copy; None if empty."""
        return self._queue.lane

    def accept(
        self,
        depth: int,
        urls: Sequence[str],
        scores: Scores | None,
        asked: frozenset[str] = frozenset(),
    ) -> Placed:
        """Queue new URLs by score; other URLs in ``scores`` may move up.

        ``asked``: those that an earlier run fetched."""
        scores = scores or {}
        levels = bytes(
            [level_of(scores.get(url, NEUTRAL)) + LEVELS * (url in asked) for url in urls]
        )
        self.put(depth, urls, levels)
        new = set(urls)
        met_again = ((url, level_of(score)) for url, score in scores.items() if url not in new)
        raised = self.move_up(met_again)
        return Placed(levels, [url for url, _ in raised], bytes([level for _, level in raised]))

    def put(self, depth: int, urls: Sequence[str], levels: Sequence[int]) -> None:
        by_level = sorted(range(len(urls)), key=levels.__getitem__)
        for level, places in groupby(by_level, key=levels.__getitem__):
            lane = self.lanes.lane(depth, level)
            batch = [urls[place] for place in places]
            self._remember(batch, lane)
            self._queue.put(lane, batch)

    def move_up(self, urls: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Move up the URLs that wait at a worse level; return them with their new levels."""
        return [(url, level) for url, level in urls if self._moves_up(url, level)]

    def pop(self, most: int) -> list[str]:
        """Take at most this many URLs of the first lane; none if all were stale copies."""
        lane = self._queue.lane
        return [url for url in self._queue.pop(most) if self._is_true(url, lane)]

    def put_back(self, lane: int, urls: Sequence[str]) -> None:
        """Return URLs that were taken from this lane to its front."""
        self._remember(urls, lane)
        for url in urls:
            key = _key(url)
            if key in self._moved:
                self._moved[key] = (lane, self._moved[key][1])
        self._queue.put_back(lane, urls)

    def check(self) -> None:
        self._queue.check()
        assert self._copies == sum(copies for _, copies in self._moved.values())
        assert len(self._waiting) + len(self._before) <= _MOST_REMEMBERED
        assert len(self._moved) <= _MOST_REMEMBERED

    def _remember(self, urls: Sequence[str], lane: int) -> None:
        for url in urls:
            if len(self._waiting) >= _MOST_REMEMBERED // 2:
                self._before, self._waiting = self._waiting, {}
            self._waiting[_key(url)] = lane

    def _forget(self, key: int) -> None:
        self._waiting.pop(key, None)
        self._before.pop(key, None)

    def _moves_up(self, url: str, level: int) -> bool:
        key = _key(url)
        lane = self._waiting.get(key, self._before.get(key))
        if lane is None:
            return False
        level = level % LEVELS + self.lanes.level(lane) // LEVELS * LEVELS
        if level >= self.lanes.level(lane):
            return False
        _, copies = self._moved.get(key, (lane, 0))
        if not copies and len(self._moved) >= _MOST_REMEMBERED:
            return False
        better = self.lanes.lane(self.lanes.depth(lane), level)
        (self._waiting if key in self._waiting else self._before)[key] = better
        self._moved[key] = (better, copies + 1)
        self._copies += 1
        self._queue.put(better, [url])
        return True

    def _is_true(self, url: str, lane: int | None) -> bool:
        """Whether this copy is not stale; either way it is taken off the books."""
        key = _key(url)
        place = self._moved.get(key)
        if place is None:
            self._forget(key)
            return True
        true_lane, copies = place
        if true_lane == lane:
            self._forget(key)
            self._moved[key] = (_TAKEN, copies)
            return True
        self._copies -= 1
        if copies > 1:
            self._moved[key] = (true_lane, copies - 1)
        else:
            del self._moved[key]
        return False


def _key(url: str) -> int:
    return xxh3_64_intdigest(url.encode())
