"""robots.txt by RFC 9309: what may be fetched, how fast, and where the sitemaps are.

Groups, longest match and wildcards are Protego's; round it stands what the RFC says of answers:
2xx is read (at most 500 KiB of it), 4xx means no rules, 5xx or no answer means nothing may be
fetched for now. 429 is an answer of a busy server, not of one without rules: it counts as 5xx.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protego import Protego

from headgate.reading.charset import decode

__all__ = ["EVERYTHING", "NOTHING", "RobotsRules", "rules_for_status"]

MOST_BYTES = 500 * 1024
_PRODUCT_TOKEN = "headgate"


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one origin for us."""

    _parsed: Protego | None
    _otherwise: bool = True
    sitemaps: Sequence[str] = ()
    crawl_delay: float | None = None

    @classmethod
    def parse(cls, body: bytes, agent: str = _PRODUCT_TOKEN) -> RobotsRules:
        """Read a file, whatever it holds.

        >>> rules = RobotsRules.parse(b"User-agent: *\\nDisallow: /private\\nCrawl-delay: 2")
        >>> rules.allows("http://a/private/x"), rules.allows("http://a/"), rules.crawl_delay
        (False, True, 2.0)
        """
        parsed = Protego.parse(decode(body[:MOST_BYTES]))
        delay = parsed.crawl_delay(agent)
        return cls(parsed, True, tuple(parsed.sitemaps), delay)

    def allows(self, url: str) -> bool:
        if self._parsed is None:
            return self._otherwise
        return bool(self._parsed.can_fetch(url, _PRODUCT_TOKEN))


EVERYTHING = RobotsRules(None, _otherwise=True)
NOTHING = RobotsRules(None, _otherwise=False)


def rules_for_status(status: int, body: bytes) -> RobotsRules:
    """What an answer to the request for robots.txt means; 0: there was none."""
    if 200 <= status < 300:
        return RobotsRules.parse(body)
    if 400 <= status < 500 and status != 429:
        return EVERYTHING
    return NOTHING
