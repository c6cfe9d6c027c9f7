"""Fetches and stores the sitemaps that the frontier asks for, and passes on their URLs in parts."""

from __future__ import annotations

import msgspec

from headgate.crawling.dialogue import Dialogue
from headgate.crawling.focusing import Focusing
from headgate.crawling.ports import Known
from headgate.crawling.site_requests import SiteRequests
from headgate.crawling.storing import Storing
from headgate.crawling.understanding import Understanding
from headgate.frontier.commands import NAMED_BY_SITE, Fetch
from headgate.frontier.events import Event, SitemapRead, SitemapsNamed
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.model.fetch import Fetched
from headgate.model.page import Role
from headgate.reading.sitemaps import Sitemap

__all__ = ["SitemapVisits"]


class SitemapVisits(msgspec.Struct, frozen=True):
    """Of one site run. The frontier gets a sitemap's end after all of its URLs."""

    requests: SiteRequests
    understanding: Understanding
    storing: Storing
    dialogue: Dialogue
    focus: Focusing | None
    dated: Known | None
    """Known pages whose dates of change are recorded; None: dates are ignored."""

    async def visit(self, fetch: Fetch) -> None:
        outcome = await self.requests.sitemap(fetch.url)
        if self.dialogue.over:
            return
        await self.storing.put_other(outcome, Role.SITEMAP)
        event: Event | None = self.understanding.trouble(outcome)
        if event is None and isinstance(outcome, Fetched):
            sitemap = await self.understanding.sitemap(outcome)
            scores = None if self.focus is None else self.focus.of_urls(sitemap.pages)
            if self.dated is not None:
                self._note_dates(sitemap, self.dated)
            await self.dialogue.tell_of(sitemap.pages, 1, scores)
            if fetch.sitemap == NAMED_BY_SITE and sitemap.sitemaps:
                self.dialogue.pass_on(SitemapsNamed(sitemap.sitemaps, by_index=True))
            event = SitemapRead(fetch.url, outcome.first_byte_seconds)
        if event is not None:
            self.dialogue.pass_on(event)

    def _note_dates(self, sitemap: Sitemap, known: Known) -> None:
        """Record when known pages changed, according to the sitemap."""
        dates = [(url, at.timestamp()) for url, at in sitemap.modified.items() if known.asked(url)]
        if dates:
            self.storing.put(JournalEntry(Outcome.FOUND, modified=dates))
