"""Predicts a site: its bytes, the rate its server can deliver, and the source of both.

Before the crawl, from the best source there is: the site file, earlier visits (`visits`), a first
look (`scouting`). The server's speed by the hour comes from its history (`traffic.server_speed`).
While the crawl runs, the size comes from the crawl itself (`sizing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from statistics import median

import msgspec

from headgate.control.site_bounds import within_bounds
from headgate.control.visits import PastVisit, Remembered, next_visit
from headgate.model.local_time import Calendar
from headgate.model.site import Site
from headgate.model.size_range import SizeRange
from headgate.planning.alpha import fit_alpha
from headgate.traffic.server_speed import ServerSpeed

__all__ = [
    "Forecast",
    "Past",
    "PastVisit",
    "Remembered",
    "Scouted",
    "Source",
    "forecast",
    "unknown_site_bytes",
]

_UNKNOWN_SITE_BYTES = 8e6
"""An unknown site: a few hundred pages."""
_GUESS_SPREAD = 30.0
"""An unknown site may be this many times smaller or larger."""
_HOUR = 3600.0
_MOST_SAMPLES = 24 * 14
"""Most samples for a server's mean speed: two weeks of hours."""
_ENOUGH_KNOWN = 3


class Source(StrEnum):
    """Where a forecast comes from, the best first."""

    USER = "the site file"
    HISTORY = "earlier visits"
    SITEMAP = "its sitemap"
    SCOUT = "a first look"
    GUESS = "a guess"


_SCOUTED_SLOWER, _SCOUTED_FASTER = 2.0, 5.0
"""What a crawl may get, relative to one connection's speed over a few pages."""
_SEEN_SPREAD, _UNSEEN_SPREAD = 1.05, 2.0
"""The same for a server whose history covers the hour, and for one whose history does not."""
_SLOW_SERVER = 100e3
"""Bytes per second of an unknown server in the worst case."""


class Past(msgspec.Struct, frozen=True):
    """What earlier runs know of a site."""

    visits: tuple[PastVisit, ...] = ()
    """The newest first."""
    server: ServerSpeed | None = None
    """The server at the last known address of its first seed's host."""
    sharing: int = 1
    """Number of sites that will be crawled from that address at once."""
    memory: Remembered | None = None
    """What is known of its pages; None: nothing."""


class Scouted(msgspec.Struct, frozen=True):
    """What a first look found: robots.txt, the sitemap, a few pages."""

    size: SizeRange
    by_sitemap: bool = False
    """The size comes from a sitemap."""
    bytes_per_second: float | None = None
    """The speed of one connection; None: too little came to tell."""


class Forecast(msgspec.Struct, frozen=True):
    """The forecast of one visit."""

    bytes: float
    source: Source
    cap: float | None = None
    """Most bytes per second of the site, c_i: its server's speed over alpha, or the user's bound;
    None: unknown."""
    alpha: float = 1.0
    """Zhu 2020, Eq. 17: it includes delays, so the cap is the server's speed over alpha."""
    bytes_range: tuple[float, float] | None = None
    """The likely range of the size; None: it is certain."""
    server: ServerSpeed | None = None
    """Gives the cap by the hour; None: it is constant."""
    sharing: int = 1
    most: float | None = None
    """The user's own bound on the rate."""

    @property
    def mere_guess(self) -> bool:
        """Whether nothing is known of the size, neither from an earlier visit nor by a bound."""
        guessed = self.source is Source.GUESS and self.bytes_range is not None
        return guessed and self.bytes_range == _guessed_range(self.bytes)

    def cap_between(
        self, calendar: Calendar, start: float, end: float, luck: int = 0
    ) -> float | None:
        """The mean cap between two instants (seconds since 1970).

        ``luck`` is 1 for the best case, -1 for the worst, 0 for the likely one."""
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
    unknown_bytes: float = _UNKNOWN_SITE_BYTES,
) -> Forecast:
    """The forecast of a visit that begins at ``instant``.

    ``unknown_bytes`` is assumed for a site of which nothing is known."""
    size, source = _size(site, past, scouted, unknown_bytes)
    size = within_bounds(size, site, _page_bytes(past))
    server = past.server if past.server is not None and past.server.bounded else None
    rate = None
    if server is not None:
        rate = server.rate((calendar or Calendar()).moment(instant))
    elif scouted is not None:
        rate = scouted.bytes_per_second
    alpha = _alpha([visit for visit in past.visits if visit.complete])
    return Forecast(
        size.likely,
        source,
        _least(
            None if rate is None else rate / past.sharing / alpha,
            site.max_rate,
            _by_its_delay(site, past),
        ),
        alpha,
        None if source is Source.USER else (size.low, size.high),
        server,
        past.sharing,
        site.max_rate,
    )


def unknown_site_bytes(known: Iterable[Forecast]) -> float:
    """The size to assume for an unknown site: the median of the known ones."""
    sizes = [
        forecast.bytes for forecast in known if forecast.source in (Source.USER, Source.HISTORY)
    ]
    return median(sizes) if len(sizes) >= _ENOUGH_KNOWN else _UNKNOWN_SITE_BYTES


def _size(
    site: Site, past: Past, scouted: Scouted | None, unknown_bytes: float
) -> tuple[SizeRange, Source]:
    if site.expect is not None:
        return SizeRange.exactly(site.expect), Source.USER
    told = next_visit(past.visits, past.memory)
    if told is not None:
        return told, Source.HISTORY
    if scouted is not None:
        return scouted.size, Source.SITEMAP if scouted.by_sitemap else Source.SCOUT
    # The site is at least as large as what an interrupted visit fetched.
    seen = max((visit.wire_bytes for visit in past.visits), default=0.0)
    likely = max(unknown_bytes, 2 * seen)
    low, high = _guessed_range(likely)
    return SizeRange(max(low, seen), likely, high), Source.GUESS


def _guessed_range(likely: float) -> tuple[float, float]:
    return likely / _GUESS_SPREAD, likely * _GUESS_SPREAD


def _by_its_delay(site: Site, past: Past) -> float | None:
    """The rate at one response per ``delay``; None: no delay is set. Delays that follow from the
    server's response times are in alpha."""
    if not site.delay:
        return None
    return _page_bytes(past) / site.delay


def _page_bytes(past: Past) -> float:
    return (past.memory or Remembered(0)).mean_bytes


def _alpha(complete: Sequence[PastVisit]) -> float:
    known = [(float(visit.wire_bytes), visit.alpha) for visit in complete if visit.alpha]
    return fit_alpha([size for size, _ in known], [size * alpha for size, alpha in known])


def _least(*rates: float | None) -> float | None:
    return min((rate for rate in rates if rate), default=None)
