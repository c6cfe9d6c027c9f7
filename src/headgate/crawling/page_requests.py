"""Requests of one site run: within its limits, conditional for known pages.

A response's bytes are added to the site's in the same step in which they stop being in progress:
a look in between would miss them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from headgate.bandwidth.server_tally import ResponseSize
from headgate.crawling.ports import Fetcher
from headgate.crawling.progress import Progress
from headgate.frontier.retries import RetryRules, is_busy
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.model.page import Earlier
from headgate.model.run_report import ENOUGH_NEW, MAX_BYTES
from headgate.model.task import Task

__all__ = ["SiteRequests", "not_modified"]

_MOST_PAGE_BYTES = 16_000_000
_MOST_SITEMAP_BYTES = 16_000_000


class SiteRequests:
    """``stop`` is called when the site has used up its bytes."""

    def __init__(
        self,
        task: Task,
        fetcher: Fetcher,
        progress: Progress,
        stop: Callable[[str], None],
        came: Callable[[str, Fetched | FetchFailure], None] = lambda _url, _outcome: None,
        *,
        retries: RetryRules,
    ) -> None:
        """``came`` is called when a page or sitemap was fetched, or failed."""
        self.response_size = ResponseSize()
        """Expected size of the next response; updated by those who process responses."""
        self._site = site = task.site
        self._fetcher = fetcher
        self._progress = progress
        self._stop = stop
        self._came = came
        self._retries = retries
        self._most_page_bytes = int(site.max_page_size or _MOST_PAGE_BYTES)
        self._kept, self._asked = task.kept, frozenset(task.asks or ())
        self._new_bytes = 0
        """Wire bytes of new pages in a keeper's visit."""

    async def request(self, request: FetchRequest) -> Fetched | FetchFailure:
        """Send a request, also for robots.txt, and count its bytes."""
        outcome = await self._fetcher.fetch(request)
        self._progress.received(outcome.wire_bytes)
        return outcome

    async def page(self, url: str, earlier: Earlier | None) -> Fetched | FetchFailure:
        """Fetch a page, conditionally if there is an ``earlier`` response.

        A body that broke off is requested once more. If that fails, what came is kept and marked
        as truncated, as for servers that send a wrong length."""
        outcome = await self._once(url, earlier)
        self._came(url, outcome)
        if not _broke_off(outcome):
            return outcome
        await asyncio.sleep(self._retries.wait(1))
        again = await self._once(url, None)
        return outcome if isinstance(again, FetchFailure) else again

    async def sitemap(self, url: str) -> Fetched | FetchFailure:
        most = min(_MOST_SITEMAP_BYTES, self._bytes_left())
        expected = int(self.response_size.expected)
        outcome = await self.request(FetchRequest(url, self._site.name, expected, most))
        self._came(url, outcome)
        return outcome

    def keep_to_bytes(self) -> None:
        """Stop if the site has used up its bytes."""
        most = self._site.max_bytes
        if most is not None and self._progress.arrived_bytes >= most:
            self._stop(MAX_BYTES)

    def keep_to_new_bytes(self, outcome: Fetched | FetchFailure) -> None:
        """Stop a keeper's visit if its new pages have used up their bytes."""
        if self._kept is not None and outcome.url not in self._asked:
            self._new_bytes += outcome.wire_bytes
            if self._new_bytes > self._kept.new_bytes:
                self._stop(ENOUGH_NEW)

    async def _once(self, url: str, earlier: Earlier | None) -> Fetched | FetchFailure:
        site = self._site
        most, left = self._most_page_bytes, self._bytes_left()
        outcome = await self.request(
            FetchRequest(
                url,
                site.name,
                expected_bytes=int(self.response_size.expected),
                max_bytes=min(most, left),
                headers=_conditions(earlier),
                types=site.fetch,
                whole_only=site.max_page_size is not None or left < most,
                partial=True,
            )
        )
        too_large = isinstance(outcome, FetchFailure) and outcome.kind is FailureKind.TOO_LARGE
        if too_large and left < most:
            self._stop(MAX_BYTES)
        return outcome

    def _bytes_left(self) -> int:
        """Bytes that the site may still use, responses in progress deducted; at least 1, with which
        a request fails as too large."""
        if self._site.max_bytes is None:
            return self._most_page_bytes
        came = self._progress.wire_bytes + self._fetcher.under_way(self._site.name)
        return max(int(self._site.max_bytes) - came, 1)


def not_modified(outcome: Fetched | FetchFailure) -> bool:
    return isinstance(outcome, Fetched) and outcome.status == HTTPStatus.NOT_MODIFIED


def _broke_off(outcome: Fetched | FetchFailure) -> bool:
    """A busy host is left alone first, as the frontier says."""
    if not isinstance(outcome, Fetched) or is_busy(outcome.status):
        return False
    return outcome.truncated == "disconnect"


def _conditions(earlier: Earlier | None) -> tuple[tuple[str, str], ...]:
    """The headers of a conditional request."""
    if earlier is None:
        return ()
    conditions = []
    if earlier.etag:
        conditions.append(("If-None-Match", earlier.etag))
    if earlier.last_modified:
        conditions.append(("If-Modified-Since", earlier.last_modified))
    return tuple(conditions)
