"""What belongs to a server (Nakahira 2008).

The *domain* of a starting URL is its host without one leading ``www.``, or, if asked for, the
domain that somebody registered. Hosts in that domain are
*internal*: the tree that is walked. All others are *external*: never walked from here, but found,
which is what a survey is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["RegistrableDomain", "domain_of_host", "is_internal", "parents"]

RegistrableDomain = Callable[[str], str]
"""From a host to the domain that somebody registered: the public suffix list's answer."""


def domain_of_host(name: str) -> str:
    """
    >>> domain_of_host("www.example.ke"), domain_of_host("www.www.ke"), domain_of_host("news.ke")
    ('example.ke', 'www.ke', 'news.ke')
    """
    bare = name.removeprefix("www.")
    return bare if "." in bare else name


def is_internal(name: str, domain: str) -> bool:
    """
    >>> is_internal("a.b.ke", "b.ke"), is_internal("ab.ke", "b.ke")
    (True, False)
    """
    return name == domain or name.endswith(f".{domain}")


def parents(name: str) -> Iterable[str]:
    """The host and every domain above it, the longest first.

    >>> list(parents("a.b.ke"))
    ['a.b.ke', 'b.ke', 'ke']
    """
    while name:
        yield name
        name = name.partition(".")[2]
