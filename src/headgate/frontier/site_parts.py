"""Whose a URL is, where several tasks crawl one site at the same time.

By its host first: hosts that seeds are at are dealt to groups. Then by a hash of the URL: shares
are even whatever the site looks like, and no node needs to ask another whose a URL is. Folders
would keep more links within a part, but a site of one large folder could not be shared at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xxhash import xxh3_64_intdigest

from headgate.frontier.scope import host_of
from headgate.model.task import SitePart

__all__ = ["Mine", "all_mine", "host_key", "urls_of"]

Mine: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""Of some URLs, those that a task is for, in their order."""

_SEED = 7
"""Another than that of URLseen, whose table goes by the hash's last bits."""


def all_mine(urls: Sequence[str]) -> Sequence[str]:
    """Where nobody else crawls the site."""
    return urls


def host_key(url: str) -> str:
    """
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
