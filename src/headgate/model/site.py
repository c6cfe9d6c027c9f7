"""A site: what the user wants crawled, and what earlier visits taught us about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

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
"""Those that Headgate has itself."""

POLITE_DELAY, NEAR_DELAY = Seconds(0.1), Seconds(0.01)
"""Between two requests to a host at a public address, and to one in the user's own network or on
this machine, where the user says nothing: ten a second, and a hundred. Answers of a server far too
large for us to feel, or of a cache before it, would let us ask a thousand times."""


class OnDeadline(StrEnum):
    """What happens to a site whose deadline has come before its end."""

    GO_ON = "go-on"
    """It is crawled to its end, late."""
    STOP = "stop"
    """It ends there; what was fetched stays, and the site's order has put the best pages first:
    those nearest to the seeds, or with a focus the most promising."""


class Requisites(StrEnum):
    """What is fetched of what a page needs to be shown: pictures, styles, scripts, fonts, media."""

    NONE = "none"
    SAME_SITE = "same-site"
    """What is on the site's hosts."""
    PAGE = "page"
    """All, wherever it is."""


@dataclass(frozen=True, slots=True)
class SiteStatistics:
    """What past runs measured."""

    alpha: float = 1.0
    """Zhu 2020, Eq. 17: a visit takes ``alpha * bytes / rate`` seconds. Positive."""


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


@dataclass(frozen=True, slots=True)
class Site:
    """A host, a folder of a host, or a set of folders, visited as one task. Quantities may be given
    as people write them, "30m" or "120 MB", and one seed without a list."""

    name: str
    seeds: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    """Regular expressions; a URL is in the site when one of them is found in it. None: all are."""
    exclude: tuple[str, ...] = ()
    depth: int | None = None
    """Links followed from a seed at the most; None: no bound."""
    deadline: Seconds | None = None
    """Seconds from the start of the run; None: none."""
    on_deadline: OnDeadline = OnDeadline.GO_ON
    expect: Bytes | None = None
    """Bytes the visit will transfer; None: to be predicted."""
    max_rate: BytesPerSecond | None = None
    """What the server can give or may be asked for; None: the budget is the only bound."""
    max_pages: int | None = None
    """The site ends with so many; None: no bound. So do the next two."""
    max_bytes: Bytes | None = None
    """On the line, in one run."""
    max_time: Seconds | None = None
    """From its own start."""
    max_page_size: Bytes | None = None
    """A larger page is left out; None: pages are cut where Headgate's own bound is."""
    fetch: tuple[str, ...] = ()
    """Media types; a page of another is left out. None: all are fetched."""
    store: tuple[str, ...] = ()
    """What is kept of what was fetched (`headgate.model.store_rule`); the rest was fetched for its
    links. None: all is."""
    requisites: Requisites = Requisites.NONE
    """Whether what shows its pages is fetched, too."""
    max_queries: int | None = None
    """Different queries of one path; None: the trap guard's own bound."""
    connections: int | None = None
    """Requests to one of its hosts at once at the most; None: what is polite to a stranger."""
    delay: Seconds | None = None
    """From the start of one request to a host to the start of the next, at the least; None: by
    what the server takes to answer."""
    nodes_at_once: int = 1
    """Machines of a grid that may crawl it together; each then asks so much more seldom."""
    focus: str = ""
    """What its pages should be about, in words."""
    focus_pages: tuple[str, ...] = ()
    """Files with pages like those wanted."""
    order: str = ""
    """Which URLs go first: one of `ORDERS` or a scorer's name; empty: by the focus if there is one,
    breadth-first if not."""
    access: Access = field(default=Access())
    """Who asks, and which way."""
    keeping: Keeping = field(default=Keeping())
    """For `headgate keep`."""
    statistics: SiteStatistics = field(default=SiteStatistics())

    def __post_init__(self) -> None:
        where = f"site {self.name!r}"
        as_written(self, where, tuple, _LISTS)
        as_written(self, where, NUMBERS, _QUANTITIES)
        as_written(self, where, OnDeadline, {"on_deadline": choice(OnDeadline)})
        as_written(self, where, Requisites, {"requisites": choice(Requisites)})

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
        """``order``, or what stands for it when it is left out."""
        return self.order or (TOPIC if self.has_topic else BREADTH_FIRST)
