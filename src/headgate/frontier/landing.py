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

import msgspec
from msgspec.structs import replace

from headgate.frontier.commands import Command, GiveUp
from headgate.frontier.dispatch import Dispatch, Flight
from headgate.frontier.events import (
    ErrorStatus,
    FetchFailed,
    PageFetched,
    Redirected,
    SitemapRead,
)
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.ledger import Ledger
from headgate.frontier.page_seen import PageSeen
from headgate.frontier.retries import blames_host, is_busy, is_momentary
from headgate.frontier.rules import FrontierRules
from headgate.frontier.scope import host_of
from headgate.frontier.site_parts import Mine, all_mine
from headgate.frontier.url_filter import UrlFilter
from headgate.frontier.waiting_urls import BY_DEPTH
from headgate.model.left_out import Reason

__all__ = ["Ending", "Landing"]

Ending = PageFetched | SitemapRead | Redirected | ErrorStatus | FetchFailed


class Landing(msgspec.Struct, frozen=True):
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
        outcome = Outcome.DUPLICATE if copies else Outcome.PAGE
        entry = JournalEntry(
            outcome,
            event.url,
            found,
            depth,
            event.digest,
            Reason.UNREADABLE if event.unreadable else "",
            placed.levels,
            placed.raised,
            placed.raised_levels,
            self.url_filter.refused.fresh(),
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
            return self._retry(flight, Outcome.REDIRECT, "redirects to itself", now)
        if fetch.sitemap:
            return self._redirect_sitemap(flight, event.target)
        entry = JournalEntry(Outcome.REDIRECT, event.url, depth=fetch.depth)
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
            return self._end(flight, Outcome.REDIRECT, "target met before or refused")
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
            return self._retry(flight, Outcome.ERROR, reason, now)
        return self._end(flight, Outcome.ERROR, reason)

    def _failure(self, flight: Flight, event: FetchFailed, now: float) -> list[Command]:
        if blames_host(event.kind):
            flight.pace.failed(event.kind, flight.started, now)
        else:
            flight.pace.excused()
        if is_momentary(event.kind):
            return self._retry(flight, Outcome.FAILURE, event.kind, now)
        return self._end(flight, Outcome.FAILURE, event.kind)

    def _retry(self, flight: Flight, outcome: Outcome, reason: str, now: float) -> list[Command]:
        tries = flight.fetch.tries + 1
        if tries >= self.rules.retries.tries or flight.pace.given_up:
            return self._end(flight, outcome, reason)
        moment = now + self.rules.retries.wait(tries)
        self.dispatch.again(replace(flight.fetch, tries=tries), moment)
        return []

    def _retry_busy(self, flight: Flight, reason: str, now: float) -> list[Command]:
        busy = flight.fetch.busy + 1
        if busy >= self.rules.retries.busy_tries or flight.pace.given_up:
            return self._end(flight, Outcome.ERROR, reason)
        self.dispatch.again(replace(flight.fetch, busy=busy), now)
        return []

    def _end(self, flight: Flight, outcome: Outcome, reason: str) -> list[Command]:
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
