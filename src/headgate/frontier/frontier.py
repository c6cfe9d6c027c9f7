"""The frontier of one site run: events in, commands out.

`Frontier.handle` takes one event and returns commands, to be performed in order. Each Fetch is
answered by exactly one of these, each LearnRobots by RobotsLearned:

    PageFetched    the URL ends; its links go to the URL filter, one level deeper
    Redirected     the URL ends; its target goes to the URL filter at the same depth, and goes next
    ErrorStatus    retried when a busy host is ready, or a little later, or the URL ends (`retries`)
    FetchFailed    retried a little later, or the URL ends
    SitemapRead    nothing more; a sitemap that ends otherwise is retried as a page is. Its end is
                   not recorded: a resumed run reads sitemaps again

Redirects. A target that was seen before, as in a loop, ends the chain, and so does the eleventh
hop. A page that redirects to itself wants its cookie sent back: it is fetched again, as a retry.

The host's pace is updated with each result. If the host is given up by that, the URL gets no more
tries, and GiveUp is issued once. `Wait` asks for a Tick at its time.

Durability. Every change that a restart needs is in a Record. `replay` restores the state from the
recorded entries; whatever was to do, waiting or in flight is then to do.

Parts. If several tasks crawl a site, each has a frontier for its part of the URLs (`Mine`). Links
to URLs of other parts are recorded as found and left to the manager, which reads them.

Invariant, with `check` as its code: accepted = settled + dropped + to do + on the bench + in
flight, and every accepted URL is in URLseen. Those that end without a fetch are counted by
dispatch, those refused by the URL filter; `Tally` has them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from headgate.frontier.dispatch import Dispatch, DispatchRules, Flight
from headgate.frontier.events import (
    NAMED_BY_INDEX,
    NAMED_BY_SITE,
    NEEDED,
    Asked,
    Command,
    ErrorStatus,
    Event,
    Fetch,
    FetchFailed,
    Found,
    GiveUp,
    JournalEntry,
    NotNow,
    PageFetched,
    Recalled,
    Record,
    Redirected,
    RobotsLearned,
    Seeds,
    SitemapRead,
    SitemapsNamed,
    Slots,
    Stop,
    Tick,
    Turn,
    UrlOutcome,
)
from headgate.frontier.host_queues import BY_DEPTH
from headgate.frontier.priority_queue import Placed, Scores
from headgate.frontier.retries import RetryRules, blames_host, is_busy, is_momentary
from headgate.frontier.scope import Mine, Scope, all_mine, host_of
from headgate.frontier.seen_urls import PageSeen
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_filter import SkippedUrls, UrlFilter
from headgate.frontier.url_queue import Spill
from headgate.model.fetch import LEFT_OUT, FailureKind
from headgate.model.run_report import LeftOut, Reason, merged

__all__ = ["Frontier", "FrontierRules", "Tally"]

Ending = PageFetched | SitemapRead | Redirected | ErrorStatus | FetchFailed

_SEED_SCORE = 1.0
_KNOWN_TARGET = "target met before or refused"
_LEFT_OUT = LEFT_OUT | {FailureKind.FORBIDDEN_ADDRESS, Reason.HOPS, Reason.UNREADABLE}
"""Details of entries for which a URL counts as left out."""


class FrontierRules(msgspec.Struct, frozen=True):
    """All limits of a site run except its scope.

    All have defaults but the year: ``FrontierRules(TrapRules(this_year=2026))``.
    """

    traps: TrapRules
    dispatch: DispatchRules = msgspec.field(default_factory=DispatchRules)
    retries: RetryRules = msgspec.field(default_factory=RetryRules)
    hops: int = 10
    """Redirects followed in a chain."""
    max_pages: int | None = None
    """The site ends after this many pages, duplicates included."""
    copies_followed: int = 16
    """URLs with the same content whose links are followed."""


class Tally(msgspec.Struct, frozen=True):
    """The states of all URLs of a site run. accepted = to do + in flight + outcomes + dropped."""

    seen: int
    accepted: int
    to_do: int
    in_flight: int
    outcomes: Mapping[UrlOutcome, int]
    dropped: Mapping[str, int]
    """Accepted, but not fetched, by reason."""
    refused: Mapping[str, int]
    """Not accepted, by reason."""
    given_up: Mapping[str, str]
    """Hosts, with the reason."""
    left_out: dict[str, LeftOut]
    """Dropped and refused URLs with examples, and those that were fetched in vain."""


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
        self.rules = rules
        """For those who fetch for it, too."""
        self._mine = mine
        self._filter = UrlFilter(scope, rules.traps)
        self._dispatch = Dispatch(
            spill, rules.dispatch, strict_levels=scope.depth is not None, asked_before=asked_before
        )
        self._pages = PageSeen()
        self._accepted = 0
        """Of every URL it is counted once that it was accepted, and once how it ended."""
        self._outcomes: Counter[UrlOutcome] = Counter()
        self._given_up: dict[str, str] = {}
        self._left_out = SkippedUrls()
        """Of URLs that were fetched."""

    def handle(self, event: Event, now: float) -> list[Command]:
        """Handle an event at ``now``, in seconds of any monotonic clock."""
        commands: list[Command] = []
        match event:
            case PageFetched() | SitemapRead() | Redirected() | ErrorStatus() | FetchFailed():
                commands = self._land(event, now)
            case Seeds() | Asked() | NotNow() | Found() | SitemapsNamed() | Recalled():
                commands = self._meet(event)
            case RobotsLearned():
                self._dispatch.learn(event)
            case Slots():
                self._dispatch.allow(event.count)
            case Stop():
                self._dispatch.stop(event.reason)
            case Turn():
                self._dispatch.allow_one()
            case Tick():
                pass
        return commands + self._dispatch.commands(now, self._pages_left())

    def replay(self, read: Callable[[], Iterable[JournalEntry]]) -> None:
        """Restore the frontier that emitted these entries; before any event, with an empty spill.

        ``read`` is called twice: first for URLs that have ended, then for those found.
        """
        self._filter.recall_settled(self._settled(read()))
        for entry in read():
            self._filter.refused.recall(entry.refused)
            needed = entry.detail == NEEDED
            mine = self._mine(self._filter.recall(entry.found, entry.depth, needed=needed))
            self._dispatch.waiting.recall(mine, entry)
            self._accepted += len(mine)

    def follows(self, digest: bytes) -> bool:
        """Whether links of one more page with this content would be followed."""
        return self._pages.copies(digest) + 1 < self.rules.copies_followed

    def may_read_sitemaps(self, url: str) -> bool:
        """Whether sitemaps of the origin of an accepted URL are read."""
        return self._filter.may_read_sitemaps(url)

    @property
    def accepted(self) -> int:
        """URLs accepted so far."""
        return self._accepted

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
            accepted=self._accepted,
            to_do=len(self._dispatch) - self._dispatch.in_flight - self._dispatch.sitemaps_waiting,
            in_flight=self._dispatch.in_flight,
            outcomes=dict(self._outcomes),
            dropped=dict(self._dispatch.dropped.counts),
            refused=dict(self._filter.refused.counts),
            given_up=dict(self._given_up),
            left_out=merged(
                self._filter.refused.report(),
                self._dispatch.dropped.report(),
                self._left_out.report(),
            ),
        )

    def check(self) -> None:
        """Assert all invariants; slow, for tests."""
        self._filter.seen.check()
        self._dispatch.check()
        ended = self._outcomes.total() + self._dispatch.dropped.counts.total()
        assert self._accepted == ended + len(self._dispatch) - self._dispatch.sitemaps
        assert self._accepted <= len(self._filter.seen)

    # URLs that do not come from a page.

    def _meet(
        self, event: Seeds | Asked | NotNow | Found | SitemapsNamed | Recalled
    ) -> list[Command]:
        match event:
            case Seeds():
                found = self._filter.seeds(self._mine(event.urls))
                return self._bring(found, 0, dict.fromkeys(found, _SEED_SCORE), seeds=True)
            case Asked():
                return self._ask(event)
            case Found():
                return self._find(event)
            case NotNow():
                self._filter.seen.fill(event.hashes)
            case SitemapsNamed():
                self._look_into(event)
            case Recalled():
                self._recall(event)
        return []

    def _ask(self, event: Asked) -> list[Command]:
        asked = self._mine(event.urls)
        if event.needed:
            found, detail = self._filter.needed(asked), NEEDED
        else:
            found, detail = self._filter.asked(asked, event.depth), ""
        accepted = frozenset(found)
        left = [url for url in asked if url not in accepted]
        commands = self._bring(found, event.depth, None, seeds=True, detail=detail)
        if left:
            commands.append(Record(JournalEntry(UrlOutcome.FOUND, depth=event.depth, left=left)))
        return commands

    def _find(self, event: Found) -> list[Command]:
        if event.needed:
            return self._bring(self._filter.needed(event.urls), event.depth, None, detail=NEEDED)
        if self._filter.scope.has(event.depth):
            return self._bring(self._filter.links(event.urls), event.depth, event.scores)
        self._filter.pass_over(event.urls, Reason.BEYOND_DEPTH)
        return []

    def _look_into(self, event: SitemapsNamed) -> None:
        """Pages of a sitemap have the depth of links of a seed."""
        if self._filter.scope.has(1):
            named = NAMED_BY_INDEX if event.by_index else NAMED_BY_SITE
            self._dispatch.look_into(self._filter.sitemaps(event.urls), named)

    def _recall(self, event: Recalled) -> None:
        if event.unlinked:
            self._filter.close()
        if self._filter.scope.has(event.depth):
            found = self._filter.recalled(self._mine(event.urls))
            self._accept(found, event.depth, event.scores)

    def _bring(
        self,
        found: list[str],
        depth: int,
        scores: Scores | None,
        *,
        seeds: bool = False,
        detail: str = "",
    ) -> list[Command]:
        if not found:
            return []
        placed = self._accept(self._mine(found), depth, scores, first=seeds)
        entry = JournalEntry(
            UrlOutcome.FOUND,
            found=found,
            depth=depth,
            detail=detail,
            levels=placed.levels,
            raised=placed.raised,
            raised_levels=placed.raised_levels,
            refused=self._filter.refused.fresh(),
        )
        return [Record(entry)]

    def _accept(
        self, mine: Sequence[str], depth: int, scores: Scores | None, *, first: bool = False
    ) -> Placed:
        placed = self._dispatch.waiting.accept(mine, depth, scores, first=first)
        self._accepted += len(mine)
        return placed

    # Ends of fetches.

    def _land(self, event: Ending, now: float) -> list[Command]:
        flight = self._dispatch.land(event.url)
        match event:
            case PageFetched():
                return [self._page(flight, event)]
            case SitemapRead():
                flight.pace.took(event.answer_seconds)
                flight.pace.answered()
                return []
            case Redirected():
                commands = self._redirect(flight, event, now)
            case ErrorStatus():
                commands = self._error_status(flight, event, now)
            case FetchFailed():
                commands = self._failure(flight, event, now)
        return commands + self._farewell(flight)

    def _page(self, flight: Flight, event: PageFetched) -> Record:
        flight.pace.took(event.answer_seconds)
        flight.pace.answered()
        depth = flight.fetch.depth + 1
        copies = self._count_copy(event.url, event.digest) if event.digest else 0
        found: list[str] = []
        placed = BY_DEPTH
        if not self._filter.scope.has(depth):
            self._filter.pass_over(event.links, Reason.BEYOND_DEPTH)
        elif copies < self.rules.copies_followed:
            found = self._filter.links(event.links)
            placed = self._accept(self._mine(found), depth, event.scores)
            if event.unfollowed:
                self._filter.pass_over(event.unfollowed, Reason.NOFOLLOW)
        outcome = UrlOutcome.DUPLICATE if copies else UrlOutcome.PAGE
        entry = JournalEntry(
            outcome,
            event.url,
            found=found,
            depth=depth,
            digest=event.digest,
            detail=Reason.UNREADABLE if event.unreadable else "",
            levels=placed.levels,
            raised=placed.raised,
            raised_levels=placed.raised_levels,
            refused=self._filter.refused.fresh(),
        )
        return self._settle(entry)

    def _count_copy(self, url: str, digest: bytes) -> int:
        """Count a page with this content; return how many there were before."""
        copies = self._pages.add(digest)
        if copies >= self.rules.copies_followed:
            self._left_out.record(Reason.COPY, [url])
        return copies

    def _redirect(self, flight: Flight, event: Redirected, now: float) -> list[Command]:
        flight.pace.took(event.answer_seconds)
        flight.pace.answered()
        fetch = flight.fetch
        if event.target == event.url:
            return self._retry(flight, UrlOutcome.REDIRECT, "redirects to itself", now)
        if fetch.sitemap:
            return self._redirect_sitemap(fetch, event.target)
        entry = JournalEntry(UrlOutcome.REDIRECT, event.url, depth=fetch.depth)
        if fetch.hops >= self.rules.hops:
            return [self._settle(replace(entry, detail=Reason.HOPS))]
        needed = event.url in self._filter.shown
        found = self._filter.redirect(event.target, fetch.depth, needed=needed)
        if not found:
            return [self._settle(replace(entry, detail=_KNOWN_TARGET))]
        if needed:
            entry = replace(entry, detail=NEEDED)
        if not self._mine(found):
            return [self._settle(replace(entry, found=found))]
        self._accepted += 1
        levels = self._dispatch.waiting.redirect_levels(fetch)
        self._dispatch.again(fetch.redirected(found[0]))
        return [self._settle(replace(entry, found=found, levels=levels))]

    def _redirect_sitemap(self, fetch: Fetch, target: str) -> list[Command]:
        found = self._filter.sitemaps([target]) if fetch.hops < self.rules.hops else []
        if not found:
            return self._end(fetch, UrlOutcome.REDIRECT, _KNOWN_TARGET)
        self._dispatch.again(fetch.redirected(found[0]))
        return []

    def _error_status(self, flight: Flight, event: ErrorStatus, now: float) -> list[Command]:
        reason = f"status {event.status}"
        flight.pace.took(event.answer_seconds, error=True)
        if is_busy(event.status):
            flight.pace.busy(reason, flight.started, now, event.retry_after)
            return self._retry_busy(flight, reason, now)
        if event.status < 500:
            flight.pace.answered()
        else:
            flight.pace.erred(reason)
        if is_momentary(event.status):
            return self._retry(flight, UrlOutcome.ERROR, reason, now)
        return self._end(flight.fetch, UrlOutcome.ERROR, reason)

    def _failure(self, flight: Flight, event: FetchFailed, now: float) -> list[Command]:
        if blames_host(event.kind):
            flight.pace.failed(event.kind, flight.started, now)
        else:
            flight.pace.excused()
        if is_momentary(event.kind):
            return self._retry(flight, UrlOutcome.FAILURE, event.kind, now)
        return self._end(flight.fetch, UrlOutcome.FAILURE, event.kind)

    def _retry(self, flight: Flight, outcome: UrlOutcome, reason: str, now: float) -> list[Command]:
        tries = flight.fetch.tries + 1
        if tries >= self.rules.retries.tries or flight.pace.given_up:
            return self._end(flight.fetch, outcome, reason)
        moment = now + self.rules.retries.wait(tries)
        self._dispatch.again(replace(flight.fetch, tries=tries), moment)
        return []

    def _retry_busy(self, flight: Flight, reason: str, now: float) -> list[Command]:
        busy = flight.fetch.busy_answers + 1
        if busy >= self.rules.retries.busy_tries or flight.pace.given_up:
            return self._end(flight.fetch, UrlOutcome.ERROR, reason)
        self._dispatch.again(replace(flight.fetch, busy_answers=busy), now)
        return []

    def _end(self, fetch: Fetch, outcome: UrlOutcome, reason: str) -> list[Command]:
        if fetch.sitemap:
            return []
        entry = JournalEntry(outcome, fetch.url, depth=fetch.depth, detail=reason)
        return [self._settle(entry)]

    def _farewell(self, flight: Flight) -> list[Command]:
        reason, host = flight.pace.given_up, host_of(flight.fetch.url)
        if not reason or host in self._given_up:
            return []
        self._given_up[host] = reason
        return [GiveUp(host, reason)]

    # The ledger of ends.

    def _settle(self, entry: JournalEntry) -> Record:
        """Count the end of a URL, and record it."""
        self._count_end(entry)
        return Record(entry)

    def _count_end(self, entry: JournalEntry) -> None:
        self._outcomes[entry.outcome] += 1
        if entry.detail in _LEFT_OUT:
            self._left_out.record(entry.detail, [entry.url])

    def _settled(self, entries: Iterable[JournalEntry]) -> Iterator[str]:
        for entry in entries:
            if entry.outcome is UrlOutcome.FOUND:
                continue
            self._accepted += 1
            self._count_end(entry)
            if entry.digest:
                self._count_copy(entry.url, entry.digest)
            yield entry.url

    def _pages_left(self) -> int | None:
        if self.rules.max_pages is None:
            return None
        pages = self._outcomes[UrlOutcome.PAGE] + self._outcomes[UrlOutcome.DUPLICATE]
        return self.rules.max_pages - pages
