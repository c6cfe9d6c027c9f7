"""URLs that were accepted and not started: each is in URLtodo or on the bench.

Order by depth. Without a maximum depth, URLs of the next depth may start while some of this depth
are still in flight. With one, they may not: the depth at which a URL is first found decides whether
its links are followed, so a page that comes late (a retry, a slow host) could otherwise change
which pages are crawled. Depths then follow each other strictly, and the pages crawled depend on the
site alone, not on timing.

What an earlier run fetched comes after what none did: within a depth if there is a maximum, over
all depths if not. So the archive of a site that is too large for its deadline grows from run to
run, even if its server never answers "not modified". Seeds come first all the same.

With a focus, URLtodo is ordered by score (``scored_todo``), and only few URLs are on the bench, as
they can no longer be overtaken. When a page has links better than those on the bench, all untouched
URLs go back into the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.frontier.bench import Bench
from headgate.frontier.commands import Fetch
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.pacing import PaceRules
from headgate.frontier.ports import Spill
from headgate.frontier.scored_todo import NEUTRAL, Placed, ScoredTodo, Scores, level_of
from headgate.frontier.todo import DepthLanes, UrlTodo

__all__ = ["BY_DEPTH", "WaitingUrls"]

BY_DEPTH = Placed()
"""Without a focus, depth alone decides."""

_REFILL = 50


class WaitingUrls:
    """At most ``memory`` URLs are in memory. Dispatch takes from the bench directly."""

    def __init__(
        self,
        spill: Spill,
        memory: int,
        pace: PaceRules,
        asked_before: Callable[[str], bool],
        *,
        scored: bool,
        strict_levels: bool,
    ) -> None:
        in_todo = memory - memory // 4
        self._scored = ScoredTodo(spill, in_todo, depth_first=strict_levels) if scored else None
        self._by_depth = UrlTodo(spill, in_todo)
        """Empty with a focus."""
        self._lanes = DepthLanes(strict_levels)
        self._asked_before = asked_before
        self.bench = Bench(pace)
        self._bench_bound = max(1, memory // 4)
        self._least_room = 1 if scored else max(1, min(_REFILL, self._bench_bound // 4))
        """The bench is refilled if it has this much room: taking one URL costs as much as many."""
        self._strict_levels = strict_levels
        self._level = 0
        """Depth of the URLs last taken out of URLtodo."""
        self._worst_benched = -1
        """With a focus: no untouched URL on the bench is from a later lane than this."""

    @property
    def todo(self) -> UrlTodo | ScoredTodo:
        return self._by_depth if self._scored is None else self._scored

    def __len__(self) -> int:
        return len(self.todo) + len(self.bench)

    def accept(
        self, found: Sequence[str], depth: int, scores: Scores | None, *, first: bool = False
    ) -> Placed:
        """Queue new URLs; with a focus, known ones among the scored may move up.

        ``first``: as if no earlier run had fetched them."""
        asked = frozenset() if first else self._asked(found)
        if self._scored is None:
            self._put(depth, found, asked)
            return BY_DEPTH
        placed = self._scored.accept(depth, found, scores, asked)
        self._reconsider(self._scored)
        return placed

    def recall(self, found: Sequence[str], entry: JournalEntry) -> None:
        """Queue what is left of an entry's URLs, as when it was recorded."""
        if self._scored is None:
            first = entry.outcome is Outcome.FOUND and entry.depth == 0  # seeds
            self._put(entry.depth, found, frozenset() if first else self._asked(found))
            return
        levels = dict(zip(entry.found, entry.levels, strict=False))
        neutral = level_of(NEUTRAL)
        self._scored.put(entry.depth, found, [levels.get(url, neutral) for url in found])
        self._scored.move_up(zip(entry.raised, entry.raised_levels, strict=True))

    def redirect_levels(self, fetch: Fetch) -> bytes:
        """The target of a redirect has the level of its source."""
        return b"" if self._scored is None else bytes([fetch.level])

    def refill(self, slots: int, *, busy: bool) -> bool:
        """Move URLs from URLtodo to the bench; False if none may. ``busy``: fetches are in flight,
        at most ``slots`` of them."""
        lane, room = self.todo.lane, self._bench_bound - len(self.bench)
        if lane is None or room < self._least_room:
            return False
        scored = self._scored
        depth = self._lanes.depth(lane) if scored is None else scored.lanes.depth(lane)
        if self._strict_levels and depth > self._level and (busy or self.bench):
            return False
        self._level = depth
        if scored is None:
            for url in self._by_depth.take_spread(min(room, _REFILL)):
                self.bench.put(Fetch(url, depth))
        else:
            self._worst_benched = max(self._worst_benched, lane)
            level = scored.lanes.level(lane)
            for url in scored.take(min(room, max(slots, 1))):
                self.bench.put(Fetch(url, depth, level=level))
        return True

    def check(self) -> None:
        self.todo.check()
        self.bench.check()

    def _asked(self, urls: Sequence[str]) -> frozenset[str]:
        return frozenset(filter(self._asked_before, urls))

    def _put(self, depth: int, urls: Sequence[str], asked: frozenset[str]) -> None:
        if asked:
            self._by_depth.put(
                self._lanes.lane(depth, again=True), [url for url in urls if url in asked]
            )
            urls = [url for url in urls if url not in asked]
        self._by_depth.put(self._lanes.lane(depth, again=False), urls)

    def _reconsider(self, scored: ScoredTodo) -> None:
        """Return untouched URLs of the bench to the queue if it has better ones now."""
        if scored.lane is None or scored.lane >= self._worst_benched:
            return
        self._worst_benched = -1
        by_lane: dict[int, list[str]] = {}
        for fetch in self.bench.give_back():
            by_lane.setdefault(scored.lanes.lane(fetch.depth, fetch.level), []).append(fetch.url)
        for lane, urls in by_lane.items():
            scored.put_back(lane, urls)
