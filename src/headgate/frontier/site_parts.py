"""Which part of a site a URL belongs to, if several tasks crawl it at the same time.

First by its host: the seeds' hosts are divided into groups. Then by a hash of the URL, so that
parts are of equal size whatever the site looks like, and no node has to ask another. Folders would
keep more links within a part, but a site with one large folder could not be split at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xxhash import xxh3_64_intdigest

from headgate.frontier.scope import host_of
from headgate.model.task import SitePart

__all__ = ["Mine", "all_mine", "host_key", "urls_of"]

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
