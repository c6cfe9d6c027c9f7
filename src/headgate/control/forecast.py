"""What a site will take: bytes to come, the rate its server can give, and how we know.

Before the crawl, from the best source there is: the user's word, earlier visits, a first look. How
fast the server is comes from its own history (`traffic.server_speed`), by the hour. While the
crawl runs, from the crawl itself: what is known to be left to fetch, at the mean size so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from headgate.model.local_time import Calendar
from headgate.model.site import Site
from headgate.planning.alpha import fit_alpha
from headgate.traffic.server_speed import ServerSpeed

__all__ = ["Forecast", "Past", "PastVisit", "Scouted", "Source", "forecast", "remaining_bytes"]

_UNKNOWN_SITE_BYTES = 20e6
"""A site nobody knows anything about: a few hundred pages."""
_VISITS_LOOKED_AT = 5
_HOUR = 3600.0
_MOST_SAMPLES = 24 * 14
"""Hours looked at to tell a server's mean speed; a fortnight has seen everything."""


class Source(StrEnum):
    """How we know, best first."""

    USER = "the site file"
    HISTORY = "earlier visits"
    SITEMAP = "its sitemap"
    SCOUT = "a first look"
    GUESS = "a guess"


_SPREAD = {
    Source.USER: 1.0,
    Source.HISTORY: 1.1,
    Source.SITEMAP: 1.6,
    Source.SCOUT: 4.0,
    Source.GUESS: 10.0,
}
"""A size may be so many times smaller or larger than foretold."""
_SCOUTED_SLOWER, _SCOUTED_FASTER = 2.0, 5.0
"""One connection's speed at a few pages, against what the whole crawl will get."""
_SEEN_SPREAD, _UNSEEN_SPREAD = 1.05, 2.0
"""The same for a server whose history knows the hour, and for one whose history does not."""
_SLOW_SERVER = 100e3
"""Bytes per second: a server nobody knows may be as slow, where a range is asked for."""


@dataclass(frozen=True, slots=True)
class PastVisit:
    """What an earlier run measured of a site."""

    wire_bytes: float
    seconds: float
    complete: bool
    alpha: float | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """What earlier runs know of a site."""

    visits: tuple[PastVisit, ...] = ()
    """The newest first."""
    server: ServerSpeed | None = None
    """Of the address that its first seed's host was last found at."""
    sharing: int = 1
    """Sites that will be crawled from that address at once."""


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
    """Bytes per second that the site can take, c_i: what its server gives, less the site's pauses,
    or the user's bound; None: unknown."""
    alpha: float = 1.0
    """Zhu 2020, Eq. 17: the pauses are in it, so the server's speed over alpha is the cap."""
    bytes_range: tuple[float, float] | None = None
    """The size lies in it, most likely; None: it is certain."""
    server: ServerSpeed | None = None
    """By which the cap changes with the hour; None: it does not."""
    sharing: int = 1
    most: float | None = None
    """The user's own bound on the rate."""

    def cap_between(
        self, calendar: Calendar, start: float, end: float, luck: int = 0
    ) -> float | None:
        """The mean of the cap from one instant to another (seconds since 1970).

        ``luck`` is 1 for as fast and -1 for as slow as it may be; 0: as is most likely."""
        if self.server is None:
            return self._unmeasured_cap(luck)
        samples = min(max(int((end - start) / (_HOUR / 4)), 1), _MOST_SAMPLES)
        step = min((end - start) / samples, _HOUR)
        moments = (calendar.moment(start + (k + 0.5) * step) for k in range(samples))
        rates = [
            (self.server.rate(moment) or 0.0)
            * (_SEEN_SPREAD if self.server.seen(moment) else _UNSEEN_SPREAD) ** luck
            for moment in moments
        ]
        return _least(sum(rates) / samples / self.sharing / self.alpha, self.most)

    def _unmeasured_cap(self, luck: int) -> float | None:
        if luck == 0:
            return self.cap
        if self.cap is None:
            return _least(None if luck > 0 else _SLOW_SERVER, self.most)
        return _least(
            self.cap * _SCOUTED_FASTER if luck > 0 else self.cap / _SCOUTED_SLOWER, self.most
        )


def forecast(
    site: Site,
    past: Past = Past(),  # noqa: B008  frozen
    scouted: Scouted | None = None,
    *,
    calendar: Calendar | None = None,
    instant: float = 0.0,
) -> Forecast:
    """The best that can be said of a visit before it begins, for its first ``instant``."""
    complete = [visit for visit in past.visits[:_VISITS_LOOKED_AT] if visit.complete]
    size, source = _size(site, complete, scouted)
    server = past.server if past.server is not None and past.server.bounded else None
    rate = None
    if server is not None:
        rate = server.rate((calendar or Calendar()).moment(instant))
    elif scouted is not None:
        rate = scouted.bytes_per_second
    alpha = _alpha(complete)
    return Forecast(
        size,
        source,
        _least(None if rate is None else rate / past.sharing / alpha, site.max_rate),
        alpha,
        _size_range(size, source, complete),
        server,
        past.sharing,
        site.max_rate,
    )


def _size(
    site: Site, complete: Sequence[PastVisit], scouted: Scouted | None
) -> tuple[float, Source]:
    if site.expect is not None:
        return site.expect, Source.USER
    if complete:
        # Not their median: after the first visit most pages are answered by "not modified".
        return complete[0].wire_bytes, Source.HISTORY
    if scouted is not None and scouted.pages_in_sitemap:
        return scouted.pages_in_sitemap * scouted.mean_wire_bytes, Source.SITEMAP
    if scouted is not None and scouted.pages_by_links:
        return scouted.pages_by_links * scouted.mean_wire_bytes, Source.SCOUT
    return _UNKNOWN_SITE_BYTES, Source.GUESS


def _size_range(
    size: float, source: Source, complete: Sequence[PastVisit]
) -> tuple[float, float] | None:
    if source is Source.USER:
        return None
    spread = _SPREAD[source]
    seen = [visit.wire_bytes for visit in complete] if source is Source.HISTORY else []
    return min([size / spread, *seen]), max([size * spread, *seen])


def _alpha(complete: Sequence[PastVisit]) -> float:
    known = [(visit.wire_bytes, visit.alpha) for visit in complete if visit.alpha]
    sizes = np.array([size for size, _ in known], dtype=np.float64)  # their squares are large
    alphas = np.array([alpha for _, alpha in known], dtype=np.float64)
    return fit_alpha(sizes, sizes * alphas)


def _least(*rates: float | None) -> float | None:
    return min((rate for rate in rates if rate), default=None)


def remaining_bytes(expected: float, arrived: float, to_do: int, mean_bytes: float | None) -> float:
    """What is still to come while a site is crawled.

    At least what is known to be left; the forecast beyond that shrinks as bytes arrive. A site
    that goes on beyond its forecast still has what it is known to have, and one byte at the least:
    nothing left would mean it has ended.
    """
    known = to_do * (mean_bytes or 0.0)
    return max(known, expected - arrived, 1.0)
