"""A site: what the user wants crawled, and what earlier visits taught us about it."""

from __future__ import annotations

from enum import StrEnum
from operator import attrgetter
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from headgate.model.access import IGNORE, Access
from headgate.model.as_written import NUMBERS, as_written, choice, several
from headgate.model.keeping import Keeping
from headgate.model.units import (
    Bytes,
    BytesPerSecond,
    Seconds,
    parse_duration,
    parse_rate,
    parse_size,
)

__all__ = [
    "BREADTH_FIRST",
    "LINKS_IN",
    "NEAR_DELAY",
    "ORDERS",
    "POLITE_DELAY",
    "TOPIC",
    "OnDeadline",
    "Requisites",
    "Site",
    "SiteStatistics",
]

BREADTH_FIRST, LINKS_IN, TOPIC = "breadth-first", "links-in", "topic"
ORDERS = (BREADTH_FIRST, LINKS_IN, TOPIC)
"""The built-in orders."""

POLITE_DELAY, NEAR_DELAY = Seconds(0.1), Seconds(0.01)
"""Default delay between two requests to a host at a public address, and to one in the user's own
network: at most ten requests a second, and a hundred. Without it, a large server or a cache that
answers at once would be asked a thousand times a second."""


class OnDeadline(StrEnum):
    """What happens to a site that is not finished at its deadline."""

    GO_ON = "go-on"
    """It is crawled to its end, late."""
    STOP = "stop"
    """It ends there. The site's order has put the best pages first: those nearest to the seeds, or
    with a focus the most promising."""


class Requisites(StrEnum):
    """Which page requisites are fetched: images, style sheets, scripts, fonts, media."""

    NONE = "none"
    SAME_SITE = "same-site"
    """Those on the site's own hosts."""
    PAGE = "page"
    """All, on any host."""


class SiteStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """What earlier runs measured."""

    alpha: float = 1.0
    """Zhu 2020, Eq. 17: a visit takes ``alpha * bytes / rate`` seconds. Positive."""


_PASSED_SECONDS = 0.001
"""What is left of a deadline that has passed."""
_LISTS = dict.fromkeys(("seeds", "include", "exclude", "fetch", "store", "focus_pages"), several)
_QUANTITIES = {
    "deadline": parse_duration,
    "expect": parse_size,
    "max_rate": parse_rate,
    "max_bytes": parse_size,
    "max_time": parse_duration,
    "max_page_size": parse_size,
    "delay": parse_duration,
}


_lists_of, _quantities_of = attrgetter(*_LISTS), attrgetter(*_QUANTITIES)
_IS_LIST, _IS_NUMBER = frozenset((tuple,)), frozenset(NUMBERS)


class Site(msgspec.Struct, frozen=True, omit_defaults=True):
    """A host, a folder of a host, or a set of folders, visited as one task. Quantities may be given
    as text, "30m" or "120 MB", and a single seed without a list."""

    name: str
    seeds: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    """Regular expressions; a URL is in scope if one of them is found in it. Empty: all are."""
    exclude: tuple[str, ...] = ()
    depth: int | None = None
    """Most links followed from a seed; None: no bound."""
    deadline: Seconds | None = None
    """Seconds from the start of the run; None: none."""
    on_deadline: OnDeadline = OnDeadline.GO_ON
    expect: Bytes | None = None
    """Wire bytes of the visit; None: to be predicted."""
    max_rate: BytesPerSecond | None = None
    """The most that the server can or should deliver; None: the budget is the only bound."""
    max_pages: int | None = None
    """The site ends after so many; None: no bound. The next two work alike."""
    max_bytes: Bytes | None = None
    """Wire bytes in one run."""
    max_time: Seconds | None = None
    """From its own start."""
    max_page_size: Bytes | None = None
    """A larger page is left out; None: pages are truncated at Headgate's own limit."""
    fetch: tuple[str, ...] = ()
    """Media types; a page of another type is left out. Empty: all are fetched."""
    store: tuple[str, ...] = ()
    """Which of the fetched pages are stored (`headgate.model.store_rule`); the others are fetched
    for their links only. Empty: all."""
    requisites: Requisites = Requisites.NONE
    """Whether images, style sheets and the like are fetched, too."""
    max_queries: int | None = None
    """Most different queries of one path; None: the default of the trap guard."""
    connections: int | None = None
    """Most concurrent requests to one of its hosts; None: what is polite to a stranger."""
    delay: Seconds | None = None
    """Least time from the start of one request to a host to the start of the next; None: derived
    from the server's response time."""
    nodes_at_once: int = 1
    """Grid machines that may crawl it together; the delay of each grows in proportion."""
    focus: str = ""
    """What its pages should be about, in words."""
    focus_pages: tuple[str, ...] = ()
    """Files with example pages."""
    order: str = ""
    """Which URLs go first: one of `ORDERS` or a scorer's name; empty: by the focus if there is one,
    else breadth-first."""
    access: Access = Access()
    """Login, headers, proxy."""
    keeping: Keeping = Keeping()
    """For `headgate keep`."""
    statistics: SiteStatistics = SiteStatistics()

    def __post_init__(self) -> None:
        if self._is_parsed:
            return
        where = f"site {self.name!r}"
        as_written(self, where, tuple, _LISTS)
        as_written(self, where, NUMBERS, _QUANTITIES)
        as_written(self, where, OnDeadline, {"on_deadline": choice(OnDeadline)})
        as_written(self, where, Requisites, {"requisites": choice(Requisites)})

    def as_of(self, seconds: float) -> Site:
        """The site ``seconds`` into the run: with what is left of its deadline."""
        if self.deadline is None or seconds <= 0:
            return self
        return replace(self, deadline=Seconds(max(self.deadline - seconds, _PASSED_SECONDS)))

    @property
    def _is_parsed(self) -> bool:
        """Whether all values have their types, as those of a stored site; quick, since a manager
        loads a hundred thousand for each report."""
        return (
            _IS_LIST.issuperset(map(type, _lists_of(self)))
            and _IS_NUMBER.issuperset(map(type, _quantities_of(self)))
            and type(self.on_deadline) is OnDeadline
            and type(self.requisites) is Requisites
        )

    @property
    def robots_ignored(self) -> tuple[str, ...]:
        """Hosts whose robots.txt is not obeyed."""
        if self.access.robots != IGNORE:
            return ()
        return tuple(sorted({urlsplit(seed).hostname or "" for seed in self.seeds}))

    @property
    def has_topic(self) -> bool:
        return bool(self.focus or self.focus_pages)

    @property
    def url_order(self) -> str:
        """``order``, or its default."""
        return self.order or (TOPIC if self.has_topic else BREADTH_FIRST)
