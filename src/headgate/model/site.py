"""A site: what the user wants crawled, how it is accessed, and what earlier visits taught us."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from headgate.model.errors import UserMistake
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
    "IGNORE",
    "LINKS_IN",
    "NEAR_DELAY",
    "NUMBERS",
    "ORDERS",
    "POLITE_DELAY",
    "TOPIC",
    "Access",
    "OnDeadline",
    "Requisites",
    "Site",
    "SiteStatistics",
    "as_written",
    "choice",
]

IGNORE = "ignore"


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a site is accessed: user agent, headers, login, proxy, client certificate.

    No secret is stored here: ``env:NAME`` and ``file:PATH`` say where it is, and only the process
    that sends a request reads it.

    The access settings of one site; every field is optional.
    """

    user_agent: str = ""
    """In place of Headgate's own."""
    robots_agent: str = ""
    """The product token that robots.txt knows us by, in place of ``headgate``."""
    headers: tuple[str, ...] = ()
    """Like ``"X-Team: archive"``; sent to hosts of the seeds only."""
    auth: str = ""
    """``"basic env:LOGIN"``, where LOGIN holds ``name:password``, or ``"bearer file:token"``."""
    cookies: str = ""
    """Path of a cookie file in Netscape's format."""
    login: str = ""
    """The URL of a page with a login form."""
    login_fields: tuple[str, ...] = ()
    """Like ``"u=editor"`` and ``"p=env:PASSWORD"``."""
    proxy: str = ""
    """``http://host:port`` or ``socks5://host:port``; its password as ``env:`` or ``file:``."""
    client_certificate: str = ""
    """A PEM file with certificate and key."""
    robots: str = ""
    """``"ignore"``: robots.txt of the seeds' hosts is not obeyed."""

    @property
    def logs_in(self) -> bool:
        """Whether links that log out must be avoided."""
        return bool(self.auth or self.cookies or self.login)


# Lets values be given from Python as they are written in a site file.
#
# ``Site("docs", seeds="https://docs.example.org/", deadline="30m")`` means what the same words in a
# site file mean; what cannot be parsed is refused when the value is made.


NUMBERS = (float, int, type(None))

_Read = Callable[[Any], Any]


def as_written(
    thing: msgspec.Struct,
    where: str,
    ready: type | tuple[type, ...],
    readers: Mapping[str, _Read],
) -> None:
    """Parse fields of a frozen value in place, except those that already are of a ``ready`` type.
    ``where`` begins the error message."""
    for name, read in readers.items():
        value = getattr(thing, name)
        if not isinstance(value, ready):
            try:
                msgspec.structs.force_setattr(thing, name, read(value))
            except UserMistake as mistake:
                raise UserMistake(f"{where}: {name}: {mistake}") from None


def several(values: Any) -> tuple[str, ...]:
    """One string or several, as a tuple.

    >>> several("a"), several(["a", "b"])
    (('a',), ('a', 'b'))
    """
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise UserMistake(f"{values!r} is no text and no list of texts")
    found = tuple(values)
    if not all(isinstance(value, str) for value in found):
        raise UserMistake(f"{values!r} is no list of texts")
    return found


def choice(kind: type[StrEnum]) -> _Read:
    """A parser for the values of an enumeration."""

    def read(value: Any) -> StrEnum:
        try:
            return kind(value)
        except ValueError:
            known = ", ".join(repr(str(member)) for member in kind)
            raise UserMistake(f"{value!r} is none of {known}") from None

    return read


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
    """A site: what the user wants crawled, and what earlier visits taught us about it.

    A host, a folder of a host, or a set of folders, visited as one task. Quantities may be given
    as text, "30m" or "120 MB", and a single seed without a list.
    """

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
