"""What a site will take: bytes to come and the rate its server can give, and how we know.

Before the crawl, from the best source there is: the user's word, earlier visits, a scout. While it
runs, from the crawl itself: what is known to be left to fetch, at the mean size so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from headgate.model.site import Site

__all__ = ["Forecast", "PastVisit", "Scouted", "Source", "forecast", "remaining_bytes"]

_UNKNOWN_SITE_BYTES = 20e6
"""A site nobody knows anything about: a few hundred pages."""
_VISITS_LOOKED_AT = 5


class Source(StrEnum):
    """How we know, best first."""

    USER = "the site file"
    HISTORY = "earlier visits"
    SITEMAP = "its sitemap"
    SCOUT = "a first look"
    GUESS = "a guess"


@dataclass(frozen=True, slots=True)
class PastVisit:
    """What an earlier run measured of a site."""

    wire_bytes: float
    seconds: float
    complete: bool
    alpha: float | None = None


@dataclass(frozen=True, slots=True)
class Scouted:
    """What a first look found: robots.txt, the sitemap, a few pages."""

    pages_in_sitemap: int
    """0: there is none."""
    pages_by_links: int
    """Estimated from the links on the pages looked at."""
    mean_wire_bytes: float
    bytes_per_second: float | None
    """What one connection got from the server; None: too little came to tell."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of one visit."""

    bytes: float
    source: Source
    cap: float | None = None
    """Bytes per second the server can give or may be asked for; None: unknown."""


def forecast(
    site: Site, visits: Sequence[PastVisit] = (), scouted: Scouted | None = None
) -> Forecast:
    """The best that can be said of a visit before it begins."""
    complete = [visit for visit in visits[:_VISITS_LOOKED_AT] if visit.complete]
    rates = [visit.wire_bytes / visit.seconds for visit in complete if visit.seconds > 0]
    if scouted is not None and scouted.bytes_per_second:
        rates.append(scouted.bytes_per_second)
    known = [cap for cap in (site.max_rate, max(rates, default=None)) if cap]
    cap = min(known, default=None)
    if site.expect is not None:
        return Forecast(site.expect, Source.USER, cap)
    if complete:
        return Forecast(median(visit.wire_bytes for visit in complete), Source.HISTORY, cap)
    if scouted is not None and scouted.pages_in_sitemap:
        return Forecast(scouted.pages_in_sitemap * scouted.mean_wire_bytes, Source.SITEMAP, cap)
    if scouted is not None and scouted.pages_by_links:
        return Forecast(scouted.pages_by_links * scouted.mean_wire_bytes, Source.SCOUT, cap)
    return Forecast(_UNKNOWN_SITE_BYTES, Source.GUESS, cap)


def remaining_bytes(expected: float, arrived: float, to_do: int, mean_bytes: float | None) -> float:
    """What is still to come while a site is crawled.

    At least what is known to be left; the forecast beyond that shrinks as bytes arrive. A site
    that goes on beyond its forecast still has what it is known to have, and one byte at the least:
    nothing left would mean it has ended.
    """
    known = to_do * (mean_bytes or 0.0)
    return max(known, expected - arrived, 1.0)
