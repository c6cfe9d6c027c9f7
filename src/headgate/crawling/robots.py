"""Fetches robots.txt at the site's rate, following redirects as in RFC 9309."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import msgspec

from headgate.crawling.reading_aside import Unreadable, read_aside
from headgate.frontier.retries import is_busy, is_momentary
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.reading.content import decode_content
from headgate.reading.robots import EVERYTHING, MOST_BYTES, NOTHING, RobotsRules, rules_for_status
from headgate.reading.urls import in_header, join

__all__ = ["Request", "RobotsFile", "learn_robots", "sitemaps_of"]

Request = Callable[[FetchRequest], Awaitable[Fetched | FetchFailure]]
"""The type of `headgate.crawling.ports.Fetcher.fetch`."""

_MOST_REQUESTS = 6
"""Five redirects are followed."""
_MOST_SITEMAP_LINES = 1_000
_MOST_SECONDS = 30.0
"""For each request."""
_EXPECTED_BYTES = 2_000
_LARGE_BYTES = 20_000
"""From this size on, parsing takes longer than a few milliseconds."""


class RobotsFile(msgspec.Struct):
    """The rules, and the outcomes of the fetches."""

    rules: RobotsRules = NOTHING
    outcomes: list[Fetched | FetchFailure] = msgspec.field(default_factory=list)
    unreadable: bool = False
    """It came, but reading it broke off: as if it were unreachable, since it may forbid all."""

    @property
    def trouble(self) -> str:
        """Why there are no rules, so that nothing may be fetched; empty: there are."""
        if not self.rules.unreachable:
            return ""
        last = self.outcomes[-1]
        if self.unreadable:
            return "robots.txt cannot be read"
        if isinstance(last, Fetched):
            return f"robots.txt is unavailable: status {last.status}"
        if last.kind is FailureKind.LOGIN:
            return f"login failed: {last.detail}"
        return f"robots.txt is unavailable: {_in_words(last)}"

    @property
    def momentary(self) -> bool:
        """Whether a retry may succeed."""
        last = self.outcomes[-1]
        ending = last.status if isinstance(last, Fetched) else last.kind
        busy = isinstance(ending, int) and is_busy(ending)
        return self.rules.unreachable and (busy or is_momentary(ending))


def _in_words(failure: FetchFailure) -> str:
    if failure.kind is FailureKind.FORBIDDEN_ADDRESS:
        return "it is at a private address that you did not name"
    if failure.kind is FailureKind.TLS:
        return f"TLS, {failure.detail}"
    return failure.detail or failure.kind


async def learn_robots(
    origin: str,
    site: str,
    fetch: Request,
    agent: str,
    most_requests: int = _MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
) -> RobotsFile:
    """The rules of an origin for ``agent``. After five redirects there are none: everything is
    allowed. If ``most_requests`` ends it before, or reading breaks off, nothing is.
    """
    found = RobotsFile()
    url = f"{origin}/robots.txt"
    most_bytes = min(most_bytes, MOST_BYTES)
    for _ in range(min(most_requests, _MOST_REQUESTS)):
        outcome = await fetch(
            FetchRequest(url, site, _EXPECTED_BYTES, most_bytes, most_seconds=_MOST_SECONDS)
        )
        found.outcomes.append(outcome)
        if isinstance(outcome, FetchFailure):
            return found
        target = _redirect(outcome)
        if target is None:
            await _read(found, outcome, site, agent)
            return found
        url = target
    if most_requests >= _MOST_REQUESTS:
        found.rules = EVERYTHING
    return found


async def _read(found: RobotsFile, fetched: Fetched, site: str, agent: str) -> None:
    body = decode_content(fetched.payload, fetched.coding, MOST_BYTES).data
    if len(body) < _LARGE_BYTES:
        found.rules = rules_for_status(fetched.status, body, agent)
        return
    try:
        found.rules = await read_aside(site, rules_for_status, fetched.status, body, agent)
    except Unreadable:
        found.unreadable = True


def sitemaps_of(rules: RobotsRules, origin: str) -> list[str]:
    """URLs of an origin's sitemaps: those in its robots.txt, or else the usual place."""
    if rules.unreachable:
        return []
    lines = rules.sitemaps[:_MOST_SITEMAP_LINES] or ("/sitemap.xml",)
    joined = [join(f"{origin}/", line) for line in lines]
    return [url for url in joined if url is not None]


def _redirect(fetched: Fetched) -> str | None:
    location = in_header(fetched.header("location"))
    if not 300 <= fetched.status < 400 or not location:
        return None
    target = join(fetched.url, location)
    if target is None or urlsplit(target).scheme not in ("http", "https"):
        return None
    return target
