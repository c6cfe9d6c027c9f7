"""Landing: handles the end of a fetch.

    PageFetched    the URL ends; its links go to the URL filter, one level deeper
    Redirected     the URL ends; its target goes to the URL filter at the same depth, and goes next
    ErrorStatus    429, 503: retried when the host is ready; 408, 425, 500, 502, 504: retried a
                   little later; otherwise the URL ends
    FetchFailed    retried a little later, or the URL ends
    SitemapRead    nothing more; a sitemap that ends otherwise is retried as a page is. Its end is
                   not recorded: a resumed run reads sitemaps again

Redirects. A target that was seen before, as in a loop, ends the chain, and so does the eleventh
hop. A page that redirects to itself wants its cookie sent back: it is fetched again, as a retry.

The host's pace is updated with each result. If the host is given up by that, the URL gets no more
tries, and GiveUp is issued once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from headgate.frontier.dispatch import Dispatch, Flight, FrontierRules
from headgate.frontier.events import (
    Command,
    ErrorStatus,
    FetchFailed,
    GiveUp,
    JournalEntry,
    PageFetched,
    Record,
    Redirected,
    SitemapRead,
    UrlOutcome,
)
from headgate.frontier.host_queues import BY_DEPTH
from headgate.frontier.retries import blames_host, is_busy, is_momentary
from headgate.frontier.scope import Mine, all_mine, host_of
from headgate.frontier.seen_urls import HashSet
from headgate.frontier.url_filter import SkippedUrls, UrlFilter
from headgate.model.fetch import LEFT_OUT, FailureKind
from headgate.model.run_report import LeftOut, Reason

__all__ = ["FetchResults", "Ledger", "PageSeen", "Tally"]

Ending = PageFetched | SitemapRead | Redirected | ErrorStatus | FetchFailed


class FetchResults(msgspec.Struct, frozen=True):
    """Takes fetches out of flight; fills Pageseen, and URLtodo with links."""

    rules: FrontierRules
    url_filter: UrlFilter
    dispatch: Dispatch
    ledger: Ledger
    pages: PageSeen
    mine: Mine = all_mine

    def land(self, event: Ending, now: float) -> list[Command]:
        flight = self.dispatch.land(event.url)
        if isinstance(event, PageFetched):
            return [self._page(flight, event)]
        if isinstance(event, SitemapRead):
            return self._sitemap(flight, event)
        if isinstance(event, Redirected):
            commands = self._redirect(flight, event, now)
        elif isinstance(event, ErrorStatus):
            commands = self._error_status(flight, event, now)
        else:
            commands = self._failure(flight, event, now)
        return commands + self._farewell(flight)

    def _page(self, flight: Flight, event: PageFetched) -> Command:
        flight.pace.took(event.answer_seconds)
        flight.pace.answered()
        depth = flight.fetch.depth + 1
        copies = self.meet(event.url, event.digest) if event.digest else 0
        found: list[str] = []
        placed = BY_DEPTH
        if not self.url_filter.scope.has(depth):
            self.url_filter.pass_over(event.links, Reason.BEYOND_DEPTH)
        elif copies < self.rules.copies_followed:
            found = self.url_filter.links(event.links)
            mine = self.mine(found)
            placed = self.dispatch.waiting.accept(mine, depth, event.scores)
            self.ledger.accepted += len(mine)
            if event.unfollowed:
                self.url_filter.pass_over(event.unfollowed, Reason.NOFOLLOW)
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
            refused=self.url_filter.refused.fresh(),
        )
        return self.ledger.settle(entry)

    def _sitemap(self, flight: Flight, event: SitemapRead) -> list[Command]:
        flight.pace.took(event.answer_seconds)
        flight.pace.answered()
        self.dispatch.sitemaps -= 1
        return []

    def meet(self, url: str, digest: bytes) -> int:
        """Count a page with this content; return how many there were before."""
        copies = self.pages.meet(digest)
        if copies >= self.rules.copies_followed:
            self.ledger.left_out.note(Reason.COPY, [url])
        return copies

    def _redirect(self, flight: Flight, event: Redirected, now: float) -> list[Command]:
        flight.pace.took(event.answer_seconds)
        flight.pace.answered()
        fetch = flight.fetch
        if event.target == event.url:
            return self._retry(flight, UrlOutcome.REDIRECT, "redirects to itself", now)
        if fetch.sitemap:
            return self._redirect_sitemap(flight, event.target)
        entry = JournalEntry(UrlOutcome.REDIRECT, event.url, depth=fetch.depth)
        if fetch.hops >= self.rules.hops:
            return [self.ledger.settle(replace(entry, detail=Reason.HOPS))]
        found = self.url_filter.redirect(event.target, fetch.depth)
        if not found:
            return [self.ledger.settle(replace(entry, detail="target met before or refused"))]
        if not self.mine(found):
            return [self.ledger.settle(replace(entry, found=found))]
        self.ledger.accepted += 1
        levels = self.dispatch.waiting.redirect_levels(fetch)
        self.dispatch.again(replace(fetch, url=found[0], tries=0, busy=0, hops=fetch.hops + 1))
        return [self.ledger.settle(replace(entry, found=found, levels=levels))]

    def _redirect_sitemap(self, flight: Flight, target: str) -> list[Command]:
        fetch = flight.fetch
        found = self.url_filter.sitemaps([target]) if fetch.hops < self.rules.hops else []
        if not found:
            return self._end(flight, UrlOutcome.REDIRECT, "target met before or refused")
        self.dispatch.again(replace(fetch, url=found[0], tries=0, busy=0, hops=fetch.hops + 1))
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
        return self._end(flight, UrlOutcome.ERROR, reason)

    def _failure(self, flight: Flight, event: FetchFailed, now: float) -> list[Command]:
        if blames_host(event.kind):
            flight.pace.failed(event.kind, flight.started, now)
        else:
            flight.pace.excused()
        if is_momentary(event.kind):
            return self._retry(flight, UrlOutcome.FAILURE, event.kind, now)
        return self._end(flight, UrlOutcome.FAILURE, event.kind)

    def _retry(self, flight: Flight, outcome: UrlOutcome, reason: str, now: float) -> list[Command]:
        tries = flight.fetch.tries + 1
        if tries >= self.rules.retries.tries or flight.pace.given_up:
            return self._end(flight, outcome, reason)
        moment = now + self.rules.retries.wait(tries)
        self.dispatch.again(replace(flight.fetch, tries=tries), moment)
        return []

    def _retry_busy(self, flight: Flight, reason: str, now: float) -> list[Command]:
        busy = flight.fetch.busy + 1
        if busy >= self.rules.retries.busy_tries or flight.pace.given_up:
            return self._end(flight, UrlOutcome.ERROR, reason)
        self.dispatch.again(replace(flight.fetch, busy=busy), now)
        return []

    def _end(self, flight: Flight, outcome: UrlOutcome, reason: str) -> list[Command]:
        fetch = flight.fetch
        if fetch.sitemap:
            self.dispatch.sitemaps -= 1
            return []
        entry = JournalEntry(outcome, fetch.url, depth=fetch.depth, detail=reason)
        return [self.ledger.settle(entry)]

    def _farewell(self, flight: Flight) -> list[Command]:
        reason, host = flight.pace.given_up, host_of(flight.fetch.url)
        if not reason or host in self.ledger.given_up:
            return []
        self.ledger.given_up[host] = reason
        return [GiveUp(host, reason)]


_EMPTY_SLOT_STAND_IN = 1


class PageSeen:
    """Pageseen: digests of the contents that this site run has fetched.

    A page with the content of an earlier one under another URL is recorded as a duplicate. Its
    links depend on its content *and its URL*: relative links of a copy in another folder lead
    elsewhere. So links of a duplicate are followed, too; those that are the same cost one lookup in
    URLseen each.

    That would be endless if a server answers every path with one page full of relative links. So
    links are followed only for the first ``copies_followed`` URLs of a content (a rule of the
    frontier, 16 by default; 1 is the rule of SARSS 2010, where links of copies are not followed).

    64 bits of a digest are stored. A false match among n pages has probability n^2 / 2^65 and has
    no effect before the 17th URL.

    Counts the pages of each content.
    """

    __slots__ = ("_copies", "_digests")

    def __init__(self) -> None:
        self._digests = HashSet()
        self._copies: dict[int, int] = {}
        """For contents with more than one page: how many there were before the last."""

    def __len__(self) -> int:
        return len(self._digests)

    def meet(self, digest: bytes) -> int:
        """Count a page; return how many of this content there were before. The first 64 bits of the
        digest count.

        >>> pages = PageSeen()
        >>> [pages.meet(digest) for digest in (b"16 bytes of a sum", b"another of those.") * 2]
        [0, 0, 1, 1]
        """
        key = _key(digest)
        if self._digests.add((key,)):
            return 0
        copies = self._copies.get(key, 0) + 1
        self._copies[key] = copies
        return copies

    def copies(self, digest: bytes) -> int:
        """How many pages of this content there were before the last one."""
        return self._copies.get(_key(digest), 0)


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little") or _EMPTY_SLOT_STAND_IN


_LEFT_OUT = LEFT_OUT | {FailureKind.FORBIDDEN_ADDRESS, Reason.HOPS, Reason.UNREADABLE}
"""Details of entries for which a URL counts as left out."""


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


class Ledger:
    """The ledger: how many URLs were accepted, and how they ended.

    Every accepted URL is counted once when it is accepted and once when it ends. Those that end
    without a fetch are counted by dispatch, those refused by the URL filter; `Tally` has them all.

    Filled by the frontier and by landings.
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.outcomes: Counter[UrlOutcome] = Counter()
        self.given_up: dict[str, str] = {}
        self.left_out = SkippedUrls()
        """Of URLs that were fetched."""

    @property
    def pages(self) -> int:
        return self.outcomes[UrlOutcome.PAGE] + self.outcomes[UrlOutcome.DUPLICATE]

    def settle(self, entry: JournalEntry) -> Record:
        """Count the end of a URL, and record it."""
        self.enter(entry)
        return Record(entry)

    def enter(self, entry: JournalEntry) -> None:
        """Count the end of a URL."""
        self.outcomes[entry.outcome] += 1
        if entry.detail in _LEFT_OUT:
            self.left_out.note(entry.detail, [entry.url])
