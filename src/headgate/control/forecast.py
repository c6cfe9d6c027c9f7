"""Predicts a site: its bytes, the rate its server can deliver, and the source of both.

Before the crawl, from the best source there is: the site file, earlier visits (`visits`), a first
look (`features.plan.scout`). The server's speed by the hour comes from its history
(`bandwidth.server_speed`). While the crawl runs, the size comes from the crawl itself
(`size_estimate`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from statistics import median

import msgspec

from headgate.bandwidth.server_speed import ServerSpeed
from headgate.control.catalog import Catalog, Visit
from headgate.frontier.retries import is_temporary
from headgate.frontier.scope import host_of
from headgate.model.site import Site
from headgate.model.timetable import Calendar
from headgate.model.units import SizeRange
from headgate.scheduling.alpha import fit_alpha

__all__ = [
    "Forecast",
    "Past",
    "PastVisit",
    "Remembered",
    "Scouted",
    "Source",
    "forecast",
    "next_visit",
    "pasts",
    "unknown_site_bytes",
    "within_bounds",
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
        cap=_least(
            None if rate is None else rate / past.sharing / alpha,
            site.max_rate,
            _by_its_delay(site, past),
        ),
        alpha=alpha,
        bytes_range=None if source is Source.USER else (size.low, size.high),
        server=server,
        sharing=past.sharing,
        most=site.max_rate,
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


# Estimates the bytes of the next visit, as a range, from earlier ones.
#
# A first visit transfers everything, later ones mostly find pages unchanged, so the first says
# little of the others. Of those the weighted median counts, with newer visits weighing more, and
# interrupted or disturbed ones less. The range is the spread of the visits, and never less than a
# single visit can tell.
#
# If the site's pages are remembered, the visit lies between finding all of them unchanged and
# transferring all of them again; that also gives an estimate for a second visit.


_VISITS_LOOKED_AT = 7
_NEWER = 0.8
"""Weight of a visit relative to the next newer one."""
_DISTURBED, _BROKEN_OFF = 0.25, 0.1
"""Weight of such a visit relative to an undisturbed one."""
_MANY_ERRORS = 0.05
"""Part of a visit's pages."""
_UNCHANGED_BYTES = 500.0
"""Wire bytes of a 304 response."""
_CHANGED = 0.1
"""Assumed share of changed pages among those that can be revalidated, before any such visit."""
_PAGES_CHANGE = 1.1
_TYPICAL_BYTES = 10_000.0
_LEAST_SPREAD, _MOST_SPREAD = 0.1, 3.0
_ONE_VISIT = 0.5
"""The spread of a single visit, in natural logarithms; it falls with their number."""


class PastVisit(msgspec.Struct, frozen=True):
    """What an earlier run measured of a site."""

    wire_bytes: float
    seconds: float
    complete: bool
    alpha: float | None = None
    pages: int = 0
    troubles: int = 0
    """Temporary failures: no answer, or a server error."""
    first: bool = False
    """Nothing was known of the site before it."""

    @property
    def weight(self) -> float:
        if not self.complete:
            return _BROKEN_OFF
        return _DISTURBED if self.troubles > _MANY_ERRORS * max(self.pages, 1) else 1.0


class Remembered(msgspec.Struct, frozen=True):
    """What the collection knows of a site's pages."""

    pages: int
    never_asked: int = 0
    """Of the pages, those never fetched."""
    sized: int = 0
    """Of the pages, those of known size, ..."""
    sized_bytes: float = 0.0
    """... and their total size."""
    revalidatable: int = 0
    """Of the pages, those with a validator for conditional requests."""

    @property
    def mean_bytes(self) -> float:
        return self.sized_bytes / self.sized if self.sized else _TYPICAL_BYTES

    @property
    def bounds(self) -> SizeRange:
        """Nothing changed, a little, everything; each with all pages never fetched, and a margin,
        since pages come, go and grow."""
        whole = self.pages * self.mean_bytes
        sure = (self.pages - self.revalidatable) * self.mean_bytes
        least = sure + self.revalidatable * min(_UNCHANGED_BYTES, self.mean_bytes)
        likely = least + _CHANGED * (whole - least)
        return SizeRange(least / _PAGES_CHANGE, likely, whole * _PAGES_CHANGE)


def next_visit(visits: Sequence[PastVisit], memory: Remembered | None) -> SizeRange | None:
    """The bytes of the next visit; None: unknown. ``visits`` has the newest first."""
    later = [visit for visit in visits[:_VISITS_LOOKED_AT] if not visit.first]
    told = _by_visits(later) if any(visit.complete for visit in later) else None
    if memory is not None and memory.pages:
        return memory.bounds if told is None else _within(told, memory)
    if told is not None:
        return told
    firsts = [visit for visit in visits if visit.first and visit.complete]
    return _after_the_first(firsts[0]) if firsts else None


def _by_visits(visits: Sequence[PastVisit]) -> SizeRange:
    weights = [visit.weight * _NEWER**age for age, visit in enumerate(visits)]
    sizes = [math.log(max(visit.wire_bytes, 1.0)) for visit in visits]
    middle = _weighted_median(sizes, weights)
    apart = _weighted_median([abs(size - middle) for size in sizes], weights)
    number = sum(weight / max(weights) for weight in weights)
    spread = 2 * apart + max(_ONE_VISIT / number, _LEAST_SPREAD)
    spread = min(spread, _MOST_SPREAD)
    return SizeRange(math.exp(middle - spread), math.exp(middle), math.exp(middle + spread))


def _within(told: SizeRange, memory: Remembered) -> SizeRange:
    """The estimate from visits within the bounds of the known pages, plus all new ones."""
    bounds, new = memory.bounds, memory.never_asked * memory.mean_bytes
    likely = min(max(told.likely + new, bounds.low), bounds.high)
    return SizeRange(
        min(max(told.low + new, bounds.low), likely),
        likely,
        max(min(told.high + new, bounds.high), likely),
    )


def _after_the_first(visit: PastVisit) -> SizeRange:
    """It is not known yet whether the server answers conditional requests."""
    least = min(visit.pages * _UNCHANGED_BYTES, visit.wire_bytes)
    return SizeRange(least, visit.wire_bytes, visit.wire_bytes * math.exp(_ONE_VISIT))


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    half = sum(weights) / 2
    for value, weight in sorted(zip(values, weights, strict=True)):
        half -= weight
        if half <= 0:
            return value
    return max(values)


_VISITS = 10


def pasts(
    catalog: Catalog | None,
    sites: Sequence[Site],
    crawlers: int,
    remembered: Callable[[str], Remembered | None] = lambda _: None,
) -> dict[str, Past]:
    """Gathers from the catalog what forecasts need to know of sites.

    By site. A host that moved is looked up at its newest address; sites at one address share it,
    as far as they are crawled at once. ``remembered`` returns what is known of a site's pages.
    """
    if catalog is None:
        return {site.name: Past() for site in sites}
    addresses = {site.name: catalog.address(host_of(site.seeds[0])) for site in sites if site.seeds}
    living = Counter(address for address in addresses.values() if address)
    found = {}
    for site in sites:
        address = addresses.get(site.name)
        found[site.name] = Past(
            _visits(catalog.history(site.name, _VISITS)),
            catalog.server(address) if address else None,
            min(living[address], crawlers) if address else 1,
            remembered(site.name),
        )
    return found


def _visits(history: Sequence[Visit]) -> tuple[PastVisit, ...]:
    return tuple(
        PastVisit(
            visit.wire_bytes,
            visit.seconds,
            complete=visit.complete,
            alpha=visit.alpha,
            pages=visit.pages,
            troubles=sum(count for kind, count in visit.errors.items() if _of_the_moment(kind)),
            first=number == len(history) < _VISITS,
        )
        for number, visit in enumerate(history, 1)
    )


def _of_the_moment(kind: str) -> bool:
    return not kind.isdecimal() or is_temporary(int(kind))


def within_bounds(
    size: SizeRange, site: Site, page_bytes: float, *, came: float = 0.0, pages: int = 0
) -> SizeRange:
    """Limits a site's estimated size to the user's own bounds.

    The bytes still to come after ``came`` bytes and ``pages``, with pages of about this size.

    >>> within_bounds(SizeRange(1e6, 2e6, 9e6), Site("a", max_pages=100), 3e4, pages=50)
    SizeRange(low=1000000.0, likely=1500000.0, high=1500000.0)
    """
    most = math.inf
    if site.max_bytes is not None:
        most = site.max_bytes - came
    if site.max_pages is not None:
        most = min(most, (site.max_pages - pages) * page_bytes)
    if most >= size.high:
        return size
    most = max(most, 0.0)
    return SizeRange(min(size.low, most), min(size.likely, most), most)
