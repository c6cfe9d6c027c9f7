"""Which URLs belong to a site, and to which part of it where several tasks crawl it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeAlias

from xxhash import xxh3_64_intdigest

from headgate.model.errors import UserMistake
from headgate.model.patterns import url_pattern
from headgate.model.site import Requisites, Site
from headgate.model.task import SitePart

__all__ = [
    "Mine",
    "Scope",
    "all_mine",
    "host_key",
    "host_of",
    "is_web_url",
    "names_host",
    "origin_of",
    "urls_of",
]

_SCHEMES = ("http://", "https://")

_Search = Callable[[str], object]


class Scope:
    """Scope: which URLs belong to a site.

    By default, a site is the hosts of its seeds: all their paths, over http and https, with
    ``www.`` and without (nearly always the same site; if not, use ``exclude``). A port other than
    the scheme's default is part of the host.

    ``include`` narrows that: a URL of those hosts must match one of the expressions. It also widens
    it: an expression that contains a host, recognised by ``://``, includes whatever it matches on
    any host. ``exclude`` overrides both. Expressions are searched for in the whole URL.

    Seeds are fetched whatever the expressions say, and so is a page of the same hosts that a seed
    redirects to. Without ``include``, a seed may redirect to another host, which then becomes part
    of the site: ``http://golang.org/`` is meant to crawl ``https://go.dev/``.

    ``depth`` bounds the links followed from a seed; pages at that depth are fetched, their links
    are not followed.

    ``requisites`` of pages are in scope on hosts of the site, or on any, whatever ``include`` and
    ``depth`` say, because they are part of a wanted page; ``exclude`` holds.

    The bounds of one site.
    """

    def __init__(
        self,
        seeds: Iterable[str],
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        requisites: Requisites = Requisites.NONE,
    ) -> None:
        self.depth = depth
        self.requisites = requisites
        self._include = [_search(pattern, "include") for pattern in include]
        self._include_anywhere = [
            search
            for pattern, search in zip(include, self._include, strict=True)
            if names_host(pattern)
        ]
        self._exclude = [_search(pattern, "exclude") for pattern in exclude]
        self._prefixes: tuple[str, ...] = ()
        for seed in seeds:
            self._add_host(seed)

    @classmethod
    def for_site(cls, site: Site) -> Self:
        return cls(site.seeds, site.include, site.exclude, site.depth, site.requisites)

    def candidates(self, urls: Sequence[str]) -> list[str]:
        """The URLs that may be in scope by their host: the cheap test, for all links of a page.

        >>> scope = Scope(["https://example.org/docs/"])
        >>> scope.candidates(["http://www.example.org/x", "https://example.com/", "mailto:a@b"])
        ['http://www.example.org/x']
        """
        prefixes = _SCHEMES if self._include_anywhere else self._prefixes
        return [url for url in urls if url.startswith(prefixes)]

    def elsewhere(self, urls: Sequence[str]) -> list[str]:
        """The URLs that are out of scope by their host."""
        prefixes = _SCHEMES if self._include_anywhere else self._prefixes
        return [url for url in urls if not url.startswith(prefixes)]

    def needed(self, urls: Sequence[str]) -> list[str]:
        """The page requisites that may be fetched by their host.

        >>> scope = Scope(["http://a.org/"], ["/docs/"], requisites=Requisites.SAME_SITE)
        >>> scope.needed(["http://a.org/a.css", "http://b.org/b.png"])
        ['http://a.org/a.css']
        """
        if self.requisites is Requisites.NONE:
            return []
        anywhere = self.requisites is Requisites.PAGE
        return [url for url in urls if url.startswith(_SCHEMES if anywhere else self._prefixes)]

    def not_excluded(self, urls: Sequence[str]) -> list[str]:
        return [url for url in urls if not any(search(url) for search in self._exclude)]

    def inside(self, candidates: Sequence[str]) -> list[str]:
        """The candidates that are in scope: the expensive test, for new URLs.

        >>> scope = Scope(["http://a.org/"], include=["/3/", r"^https://b\\.org/"], exclude=["old"])
        >>> scope.inside(["http://a.org/3/", "http://a.org/2/", "http://c.org/3/"])
        ['http://a.org/3/']
        >>> scope.inside(["https://b.org/2/", "https://b.org/old"])
        ['https://b.org/2/']
        """
        inside = list(candidates)
        if self._include:
            inside = [url for url in inside if self._included(url)]
        return self.not_excluded(inside) if self._exclude else inside

    def own(self, urls: Sequence[str]) -> list[str]:
        """The URLs on hosts of the site, regardless of ``include``, but not of ``exclude``.

        >>> Scope(["http://a.org/"], include=["/docs/"]).own(["http://a.org/x", "http://b.org/x"])
        ['http://a.org/x']
        """
        own = [url for url in urls if url.startswith(self._prefixes) or self._included(url)]
        return self.not_excluded(own)

    def follows_seed(self, target: str) -> bool:
        """Whether a seed may redirect there; without ``include``, the host joins the site."""
        if not is_web_url(target):
            return False
        if not self._include:
            self._add_host(target)
        return target.startswith(self._prefixes) or bool(self.inside([target]))

    def has(self, depth: int) -> bool:
        """Whether URLs at this depth are part of the site."""
        return self.depth is None or depth <= self.depth

    def _included(self, url: str) -> bool:
        at_home = url.startswith(self._prefixes)
        return any(search(url) for search in (self._include if at_home else self._include_anywhere))

    def _add_host(self, url: str) -> None:
        if not is_web_url(url) or url.startswith(self._prefixes):
            return
        names = _names(host_of(url))
        self._prefixes += tuple(f"{scheme}{name}/" for name in names for scheme in _SCHEMES)


def names_host(pattern: str) -> bool:
    """Whether an include expression contains a host, recognised by ``://``.

    >>> names_host(r"^https:\\/\\/b\\.org"), names_host("/docs/")
    (True, False)
    """
    return "://" in pattern.replace("\\", "")


def is_web_url(url: str) -> bool:
    return url.startswith(_SCHEMES)


def origin_of(url: str) -> str:
    """Scheme, host and port: what a robots.txt is valid for.

    A URL that was stored before they lost users and passwords, or by a stranger, may have some.

    >>> origin_of("http://example.org:8080/a/b"), origin_of("https://example.org/")
    ('http://example.org:8080', 'https://example.org')
    >>> origin_of("https://me@example.org/@b"), host_of("https://me@example.org/@b")
    ('https://example.org', 'example.org')
    """
    end = url.find("/", 8)
    origin = url if end < 0 else url[:end]
    return f"{origin[: origin.index('/')]}//{host_of(origin)}" if "@" in origin else origin


def host_of(url: str) -> str:
    """Host, with its port unless it is the scheme's default: what pacing goes by.

    >>> host_of("http://example.org:8080/a/b")
    'example.org:8080'
    """
    host = url.split("/", 3)[2]
    return host.rpartition("@")[2] if "@" in host else host


def _names(host: str) -> tuple[str, ...]:
    name = host.partition(":")[0]
    if host.startswith("www."):
        return host, host[4:]
    if "." not in name or host.startswith("[") or name.replace(".", "").isdigit():
        return (host,)
    return host, f"www.{host}"


def _search(pattern: str, key: str) -> _Search:
    try:
        return url_pattern(pattern).search
    except UserMistake as mistake:
        raise UserMistake(f"{key}: {mistake}") from None


# Which part of a site a URL belongs to, if several tasks crawl it at the same time.
#
# First by its host: the seeds' hosts are divided into groups. Then by a hash of the URL, so that
# parts are of equal size whatever the site looks like, and no node has to ask another. Folders
# would keep more links within a part, but a site with one large folder could not be split at all.


Mine: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""Selects the URLs that belong to a task, in order."""

_SEED = 7
"""Not the seed of URLseen, whose table uses the last bits of the hash."""


def all_mine(urls: Sequence[str]) -> Sequence[str]:
    """For a site that is not split."""
    return urls


def host_key(url: str) -> str:
    """The host of a URL, without ``www.``.

    >>> host_key("https://www.example.org/a")
    'example.org'
    """
    return host_of(url).removeprefix("www.")


def urls_of(part: SitePart) -> Mine:
    """
    >>> urls = ["http://a/", "http://b/", "http://c/"]
    >>> [urls_of(SitePart("s", hosts=(("a",), ("b",)), group=k))(urls) for k in range(2)]
    [['http://a/', 'http://c/'], ['http://b/']]
    """
    groups = {host: number for number, hosts in enumerate(part.hosts) for host in hosts}
    group, share, shares = part.group, part.share, part.shares

    def mine(urls: Sequence[str]) -> Sequence[str]:
        if groups:
            urls = [url for url in urls if groups.get(host_key(url), 0) == group]
        if shares > 1:
            urls = [url for url in urls if xxh3_64_intdigest(url.encode(), _SEED) % shares == share]
        return urls

    return mine
