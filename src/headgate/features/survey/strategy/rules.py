"""The limits of a survey, and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from headgate.frontier.politeness import PolitenessRules
from headgate.model.errors import UserMistake
from headgate.reading.urls import host, normalise

__all__ = [
    "ALL",
    "DEEPEST",
    "RegistrableDomain",
    "StartList",
    "SurveyRules",
    "SurveyScope",
    "domain_of_host",
    "is_internal",
    "parents",
    "start_url",
]


@dataclass(frozen=True, slots=True)
class SurveyScope:
    """Which hosts that a survey finds become starting URLs.

    Which external hosts become starting URLs themselves.
    """

    suffixes: tuple[str, ...] = ()
    """Domains, without a leading dot; empty: none."""
    everywhere: bool = False

    @classmethod
    def parse(cls, text: str, starts: Iterable[str]) -> SurveyScope:
        """``.ke,.tz``, ``all``, ``none``, or ``same``: the top-level domains of the list itself.

        >>> SurveyScope.parse(".ke, tz", ()).suffixes, SurveyScope.parse("same",
        ...     ["http://a.org/"]).suffixes
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


NONE = SurveyScope()
ALL = SurveyScope(everywhere=True)


# The limits.


DEEPEST = 60


class SurveyRules(msgspec.Struct, frozen=True):
    """The limits of a survey. The defaults suit weak servers."""

    depth: int = 8
    scope: SurveyScope = NONE
    rounds: int = 1
    """How often external hosts become starting URLs; 0: never."""
    whole_registration: bool = False
    """A server is everything under one registered domain, not only the start's host."""
    breadth_first: bool = False
    """The paper's order instead of the expected yield."""
    least_yield: float = 0.0
    until: float = 1.0
    most_requests: int = 1000
    most_bytes: int = 100_000_000
    most_page_bytes: int = 2_000_000
    names_per_domain: int = 32
    """Starting URLs under one registered domain: wildcard DNS has names without end."""
    most_hosts: int = 100_000
    """New hosts that one server may name: pages are free to make up names."""
    slots: int = 100
    pace: PolitenessRules = msgspec.field(
        default_factory=lambda: PolitenessRules(
            connections=1, delay=1.0, failure_limit=3, busy_limit=3
        )
    )


# What belongs to a server (Nakahira 2008).
#
# The *domain* of a starting URL is its host without one leading ``www.``, or, if asked for, the
# domain that somebody registered. Hosts in that domain are
# *internal*: the tree that is walked. All others are *external*: never walked from here, but found,
# which is what a survey is for.


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


@dataclass(frozen=True, slots=True)
class StartList:
    """Parses starting URLs: single ones, or a list in which some lines are no URLs."""

    urls: tuple[str, ...]
    """In order, without repetition."""
    bad_lines: tuple[tuple[int, str], ...]
    """Line numbers from 1 on, with their text: a list of thousands always has some."""

    @classmethod
    def from_text(cls, text: str) -> StartList:
        """A URL on each line; empty lines and comments (#) are skipped.

        >>> StartList.from_text("example.org/a\\n\\n# no\\nnot a URL\\nexample.org/a")
        StartList(urls=('http://example.org/a',), bad_lines=((4, 'not a URL'),))
        """
        urls: dict[str, None] = {}
        bad: list[tuple[int, str]] = []
        for number, line in enumerate(text.splitlines(), 1):
            word = line.strip()
            if not word or word.startswith("#"):
                continue
            url = start_url(word)
            if url is None:
                bad.append((number, word))
            else:
                urls[url] = None
        return cls(tuple(urls), tuple(bad))


def start_url(word: str) -> str | None:
    """The normalised URL, with http by default; None: it is no URL."""
    if any(char.isspace() for char in word):
        return None
    url = normalise(word if "://" in word else f"http://{word}")
    name = "" if url is None else host(url)
    return url if "." in name or ":" in name or name == "localhost" else None
