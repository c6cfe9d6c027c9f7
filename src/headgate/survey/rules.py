"""What belongs to a server, and which of its URLs may be asked for (Nakahira 2008).

The *domain* of a starting URL is its host without one leading ``www.``, or, if asked for, the
domain that somebody registered. Hosts in that domain are
*internal*: the tree that is walked. All others are *external*: never walked from here, but found,
which is what a survey is for.

Of the URLs of one script only one is fetched. A script is a host and path that was met with a
query; the first such URL that is fetched uses it up, for other queries and for the bare path alike.
A page without a query uses nothing up. Of several queries the first that was met waits for its
turn; a bare path waits too, and is dropped only if a query came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headgate.model.errors import UserMistake
from headgate.reading.urls import host

__all__ = [
    "ALL",
    "NONE",
    "RegistrableDomain",
    "Scope",
    "ScriptRule",
    "domain_of_host",
    "is_internal",
    "parents",
]


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


class ScriptRule:
    """One fetch per script. Grows by a string for each script met.

    >>> rule = ScriptRule()
    >>> [rule.met(f"http://a/{rest}") for rest in ("s", "s?p=1", "s?p=2", "t")]
    [True, True, False, True]
    >>> rule.fetched("http://a/s?p=1")
    >>> rule.used_up("http://a/s"), rule.used_up("http://a/t"), rule.met("http://a/s")
    (True, False, False)
    """

    __slots__ = ("_used", "scripts")

    def __init__(self) -> None:
        self.scripts: dict[str, int] = {}
        """Host and path of each script, with the number of its URLs that were met."""
        self._used: dict[str, None] = {}
        """A dict because most servers have none: an empty set takes three times as much."""

    def met(self, url: str) -> bool:
        """Whether to keep it for its turn."""
        key = _script(url)
        times = self.scripts.get(key, 0)
        if times or "?" in url:
            self.scripts[key] = times + 1
        return key not in self._used if "?" not in url else not times

    def knows(self, url: str) -> bool:
        """Whether it belongs to a script that was met."""
        return _script(url) in self.scripts

    def glimpsed(self, url: str) -> bool:
        """A URL with a query that lies too deep; whether it is its script's first."""
        key = f"?{_script(url)}"
        first = key not in self._used
        self._used[key] = None
        return first

    def used_up(self, url: str) -> bool:
        """Whether its script was fetched meanwhile, under another URL."""
        return _script(url) in self._used

    def fetched(self, url: str) -> None:
        if "?" in url:
            self._used[_script(url)] = None

    def redirected(self, url: str) -> None:
        """The same URL has to be fetched once more, under another scheme."""
        self._used.pop(_script(url), None)


def _script(url: str) -> str:
    """Host and path."""
    return url.partition("?")[0].partition("://")[2]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which external hosts become starting URLs themselves."""

    suffixes: tuple[str, ...] = ()
    """Domains, without a leading dot; empty: none."""
    everywhere: bool = False

    @classmethod
    def parse(cls, text: str, starts: Iterable[str]) -> Scope:
        """``.ke,.tz``, ``all``, ``none``, or ``same``: the top-level domains of the list itself.

        >>> Scope.parse(".ke, tz", ()).suffixes, Scope.parse("same", ["http://a.org/"]).suffixes
        (('ke', 'tz'), ('org',))
        """
        match text.strip().lower():
            case "all":
                return ALL
            case "none":
                return cls()
            case "same":
                tops = {host(start).rpartition(".")[2] for start in starts}
                return cls(tuple(sorted(top for top in tops if not top.isdigit())))
            case listed:
                suffixes = tuple(part.strip().strip(".") for part in listed.split(","))
                if not all(suffixes):
                    raise UserMistake(
                        f"--scope {text!r} has an empty part; write it like '.ke,.tz', "
                        "'same', 'all' or 'none'"
                    )
                return cls(suffixes)

    def holds(self, name: str) -> bool:
        return self.everywhere or any(is_internal(name, suffix) for suffix in self.suffixes)


NONE = Scope()
ALL = Scope(everywhere=True)

RegistrableDomain = Callable[[str], str]
"""From a host to the domain that somebody registered: the public suffix list's answer."""
