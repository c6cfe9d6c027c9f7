"""Getting robots.txt: fetched under the site's share, redirects followed as RFC 9309 says."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from headgate.crawling.ports import Fetcher
from headgate.frontier.retries import is_busy, is_momentary
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.reading.content import decode_content
from headgate.reading.robots import EVERYTHING, MOST_BYTES, NOTHING, RobotsRules, rules_for_status
from headgate.reading.urls import join

__all__ = ["RobotsFile", "learn_robots"]

_MOST_REQUESTS = 6
"""Five redirects are followed."""
_EXPECTED_BYTES = 2_000
_IN_WORDS = {FailureKind.FORBIDDEN_ADDRESS: "it is at a private address that you did not name"}


@dataclass(slots=True)
class RobotsFile:
    """The rules and the fetches that led to them."""

    rules: RobotsRules = NOTHING
    outcomes: list[Fetched | FetchFailure] = field(default_factory=list)

    @property
    def trouble(self) -> str:
        """Why there are no rules, so that nothing may be fetched; empty: there are."""
        if not self.rules.unreachable:
            return ""
        last = self.outcomes[-1]
        if isinstance(last, Fetched):
            return f"robots.txt cannot be had: status {last.status}"
        return f"robots.txt cannot be had: {_IN_WORDS.get(last.kind, last.kind)}"

    @property
    def momentary(self) -> bool:
        """Whether there may be rules in a moment."""
        last = self.outcomes[-1]
        ending = last.status if isinstance(last, Fetched) else last.kind
        busy = isinstance(ending, int) and is_busy(ending)
        return self.rules.unreachable and (busy or is_momentary(ending))


async def learn_robots(
    origin: str,
    site: str,
    fetcher: Fetcher,
    agent: str,
    most_requests: int = _MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
) -> RobotsFile:
    """Rules of an origin for ``agent``. After five redirects there are none: all is allowed.

    Where fewer requests are allowed than that takes, nothing is.
    """
    found = RobotsFile()
    url = f"{origin}/robots.txt"
    most_bytes = min(most_bytes, MOST_BYTES)
    for _ in range(min(most_requests, _MOST_REQUESTS)):
        outcome = await fetcher.fetch(FetchRequest(url, site, _EXPECTED_BYTES, most_bytes))
        found.outcomes.append(outcome)
        if isinstance(outcome, FetchFailure):
            return found
        target = _redirect(outcome)
        if target is None:
            coding = outcome.header("content-encoding") or ""
            body = decode_content(outcome.payload, coding, MOST_BYTES).data
            found.rules = rules_for_status(outcome.status, body, agent)
            return found
        url = target
    if most_requests >= _MOST_REQUESTS:
        found.rules = EVERYTHING
    return found


def _redirect(fetched: Fetched) -> str | None:
    location = fetched.header("location")
    if not 300 <= fetched.status < 400 or not location:
        return None
    target = join(fetched.url, location)
    if target is None or urlsplit(target).scheme not in ("http", "https"):
        return None
    return target
