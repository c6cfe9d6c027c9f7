"""What a node may add to a site: only what lies within its scope as the manager computes it. Pure.

A URL that one node brings is asked for by others: in the next round of a shared site, and in each
later crawl by the site's memory. So no node decides what belongs to a site. Its hosts are those of
the seeds, and hosts that a seed redirects to: the redirect has to stand in the archive, as the
answer of a host that belongs to the site already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec.structs import replace

from headgate.frontier.events import JournalEntry
from headgate.frontier.scope import Scope, is_web_url
from headgate.model.fetch import REDIRECTS
from headgate.model.page import Role
from headgate.model.site import Site
from headgate.reading.urls import MAX_LENGTH, in_header, join

__all__ = ["SiteBounds", "is_plain_url"]

_CONTROLS = frozenset(map(chr, (*range(0x21), 0x7F)))


def is_plain_url(url: str) -> bool:
    """Whether it is one that a crawl asks for: http or https, without user and password, and with
    slashes that all programs take for such. (In a query backslashes are octets like others.)

    >>> [is_plain_url(url) for url in ("http://a.org/", "file:///etc", "http://u:p@a.org/", "http:///")]
    [True, False, False, False]
    """
    if not is_web_url(url) or len(url) > MAX_LENGTH or not _CONTROLS.isdisjoint(url):
        return False
    host = url.split("/", 3)[2]
    return bool(host) and "@" not in host and "\\" not in url.partition("?")[0]


class _Row(Protocol):
    """A row of a journal; those of storage are not known here."""

    @property
    def url(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def location(self) -> str: ...


class SiteBounds:
    """The scope of a site, with the hosts that joined it. ``asks``: URLs that the manager wants
    itself, which it had accepted before."""

    def __init__(self, site: Site, asks: Iterable[str] = ()) -> None:
        self._scope = Scope.for_site(site)
        self._seeds = frozenset(site.seeds)
        self._asks = frozenset(asks)
        for url in self._asks:
            self._scope.follows_seed(url)

    def starts(self, url: str) -> bool:
        """Whether a URL may be at depth 0: a seed, or what a seed redirected to."""
        return url in self._seeds or self._is_own(url)

    def redirects(self, url: str, target: str) -> bool:
        """A page at depth 0 redirected: whether its target belongs to the site from now on."""
        return self.starts(url) and is_plain_url(target) and self._scope.follows_seed(target)

    def learn(self, rows: Iterable[_Row]) -> None:
        """Take in where seeds redirected to, as a node says that is believed."""
        for row in rows:
            if row.role == Role.PAGE and row.depth == 0 and row.status in REDIRECTS:
                self.redirects(row.url, join(row.url, in_header(row.location)) or "")

    def has(self, url: str) -> bool:
        """Whether a URL may have been asked for, at whatever depth."""
        return url in self._seeds or self._is_own(url) or bool(self._needed(url))

    def within(self, entry: JournalEntry) -> JournalEntry:
        """An entry of a journal without what others must not be sent to."""
        belongs = self.has if entry.depth else self.starts
        found = [url for url in entry.found if belongs(url)]
        return entry if len(found) == len(entry.found) else replace(entry, found=found, levels=b"")

    def outside(self, urls: Iterable[str]) -> str:
        """The first URL that may not; empty: there is none."""
        return next((url for url in urls if not self.has(url)), "")

    def unasked(self, urls: Iterable[str]) -> str:
        """The first URL that the manager neither wants nor would accept; empty: there is none."""
        return next((url for url in urls if url not in self._asks and not self.has(url)), "")

    def _is_own(self, url: str) -> bool:
        return is_plain_url(url) and bool(self._scope.own([url]))

    def _needed(self, url: str) -> bool:
        return is_plain_url(url) and bool(self._scope.not_excluded(self._scope.needed([url])))
