"""The frontier of one site run: events in, commands out.

`Frontier.handle` takes one event and returns commands, to be performed in order. Each Fetch is
answered by exactly one of PageFetched (of a sitemap: SitemapRead), Redirected, ErrorStatus and
FetchFailed; each LearnRobots by RobotsLearned. `Wait` asks for a Tick at its time.

Durability. Every change that a restart needs is in a Record. `replay` restores the state from the
recorded entries; whatever was to do, waiting or in flight is then to do.

Parts. If several tasks crawl a site, each has a frontier for its part of the URLs (`Mine`). Links
to URLs of other parts are recorded as found and left to the manager, which reads them.

Invariant, with `check` as its code: accepted = settled + dropped + to do + on the bench + in
flight, and every accepted URL is in URLseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headgate.frontier.dispatch import Dispatch, FrontierRules
from headgate.frontier.events import (
    NAMED_BY_INDEX,
    NAMED_BY_SITE,
    Asked,
    Command,
    Event,
    Found,
    JournalEntry,
    NotNow,
    Recalled,
    Record,
    RobotsLearned,
    Seeds,
    SitemapsNamed,
    Slots,
    Stop,
    Tick,
    Turn,
    UrlOutcome,
)
from headgate.frontier.fetch_results import FetchResults, Ledger, PageSeen, Tally
from headgate.frontier.priority_queue import Scores
from headgate.frontier.scope import Mine, Scope, all_mine
from headgate.frontier.url_filter import UrlFilter
from headgate.frontier.url_queue import Spill
from headgate.model.run_report import Reason, merged

__all__ = ["Frontier"]

_SEED_SCORE = 1.0


class Frontier:
    """Tracks all URLs of one site run."""

    def __init__(
        self,
        scope: Scope,
        spill: Spill,
        rules: FrontierRules,
        asked_before: Callable[[str], bool] = lambda _: False,
        mine: Mine = all_mine,
    ) -> None:
        """``asked_before``: whether an earlier run fetched a URL; those come later."""
        self._mine = mine
        self._filter = UrlFilter(scope, rules.traps)
        self._dispatch = Dispatch(
            spill, rules.dispatch, strict_levels=scope.depth is not None, asked_before=asked_before
        )
        self._ledger = Ledger()
        self._pages = PageSeen()
        self._max_pages = rules.max_pages
        self._copies_followed = rules.copies_followed
        self._fetch_results = FetchResults(
            rules,
            self._filter,
            dispatch=self._dispatch,
            ledger=self._ledger,
            pages=self._pages,
            mine=mine,
        )

    def handle(self, event: Event, now: float) -> list[Command]:
        """Handle an event at ``now``, in seconds of any monotonic clock."""
        commands: list[Command] = []
        match event:
            case Seeds() | Asked() | NotNow() | Found() | SitemapsNamed() | Recalled():
                commands = self._meet(event)
            case RobotsLearned():
                self._dispatch.learn(event)
            case Slots():
                self._dispatch.slots = event.count
            case Stop():
                self._dispatch.stopping = event.reason
            case Turn():
                self._dispatch.slots = self._dispatch.in_flight + 1
            case Tick():
                pass
            case _:
                commands = self._fetch_results.land(event, now)
        if self._max_pages is not None:
            self._dispatch.pages_left = self._max_pages - self._ledger.pages
        return commands + self._dispatch.commands(now)

    def replay(self, read: Callable[[], Iterable[JournalEntry]]) -> None:
        """Restore the frontier that emitted these entries; before any event, with an empty spill.

        ``read`` is called twice: first for URLs that have ended, then for those found.
        """
        self._filter.recall_settled(self._settled(read()))
        for entry in read():
            self._filter.refused.recall(entry.refused)
            found = self._filter.recall(entry.found, entry.depth) if entry.found else []
            mine = self._mine(found)
            self._dispatch.waiting.recall(mine, entry)
            self._ledger.accepted += len(mine)

    def follows(self, digest: bytes) -> bool:
        """Whether links of one more page with this content would be followed."""
        return self._pages.copies(digest) + 1 < self._copies_followed

    @property
    def accepted(self) -> int:
        """URLs accepted so far."""
        return self._ledger.accepted

    @property
    def waiting(self) -> int | None:
        """URLs that have not ended; None while there are sitemaps to read."""
        return None if self._dispatch.sitemaps else len(self._dispatch)

    @property
    def seconds_per_request(self) -> float:
        """Least time per request that politeness requires; 0: no bound is known."""
        return self._dispatch.waiting.bench.seconds_per_request

    @property
    def tally(self) -> Tally:
        """The states of all URLs."""
        return Tally(
            seen=len(self._filter.seen),
            accepted=self._ledger.accepted,
            to_do=len(self._dispatch) - self._dispatch.in_flight - self._dispatch.sitemaps_waiting,
            in_flight=self._dispatch.in_flight,
            outcomes=dict(self._ledger.outcomes),
            dropped=dict(self._dispatch.dropped.counts),
            refused=dict(self._filter.refused.counts),
            given_up=dict(self._ledger.given_up),
            left_out=merged(
                self._filter.refused.report(),
                self._dispatch.dropped.report(),
                self._ledger.left_out.report(),
            ),
        )

    def check(self) -> None:
        """Assert all invariants; slow, for tests."""
        self._filter.seen.check()
        self._dispatch.check()
        ended = self._ledger.outcomes.total() + self._dispatch.dropped.counts.total()
        assert self._ledger.accepted == ended + len(self._dispatch) - self._dispatch.sitemaps
        assert self._ledger.accepted <= len(self._filter.seen)

    def _meet(
        self, event: Seeds | Asked | NotNow | Found | SitemapsNamed | Recalled
    ) -> list[Command]:
        """Handle URLs that do not come from a page."""
        match event:
            case Seeds():
                found = self._filter.seeds(self._mine(event.urls))
                return self._bring(found, 0, dict.fromkeys(found, _SEED_SCORE), seeds=True)
            case Asked():
                found = self._filter.asked(self._mine(event.urls), event.depth)
                return self._bring(found, event.depth, None, seeds=True)
            case Found():
                return self._find(event)
            case NotNow():
                self._filter.seen.fill(event.hashes)
            case SitemapsNamed():
                self._look_into(event)
            case Recalled():
                self._recall(event)
        return []

    def _find(self, event: Found) -> list[Command]:
        if self._filter.scope.has(event.depth):
            found = self._filter.links(event.urls)
            return self._bring(found, event.depth, event.scores)
        self._filter.pass_over(event.urls, Reason.BEYOND_DEPTH)
        return []

    def _look_into(self, event: SitemapsNamed) -> None:
        """Pages of a sitemap have the depth of links of a seed."""
        if self._filter.scope.has(1):
            named = NAMED_BY_INDEX if event.by_index else NAMED_BY_SITE
            self._dispatch.look_into(self._filter.sitemaps(event.urls), named)

    def _recall(self, event: Recalled) -> None:
        if event.unlinked:
            self._filter.closed = True
        if self._filter.scope.has(event.depth):
            found = self._filter.recalled(self._mine(event.urls))
            self._dispatch.waiting.accept(found, event.depth, event.scores)
            self._ledger.accepted += len(found)

    def _bring(
        self, found: list[str], depth: int, scores: Scores | None, *, seeds: bool = False
    ) -> list[Command]:
        if not found:
            return []
        mine = self._mine(found)
        placed = self._dispatch.waiting.accept(mine, depth, scores, first=seeds)
        self._ledger.accepted += len(mine)
        entry = JournalEntry(
            UrlOutcome.FOUND,
            found=found,
            depth=depth,
            levels=placed.levels,
            raised=placed.raised,
            raised_levels=placed.raised_levels,
            refused=self._filter.refused.fresh(),
        )
        return [Record(entry)]

    def _settled(self, entries: Iterable[JournalEntry]) -> Iterator[str]:
        for entry in entries:
            if entry.outcome is UrlOutcome.FOUND:
                continue
            self._ledger.accepted += 1
            self._ledger.enter(entry)
            if entry.digest:
                self._fetch_results.meet(entry.url, entry.digest)
            yield entry.url
