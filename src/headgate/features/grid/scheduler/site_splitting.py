"""How a site is split among several nodes: its parts, and the URLs left for each. Pure.

The parts of a round run at the same time, and each URL belongs to one of them (`frontier.scope`). A
link to a URL of another part waits for the next round. The site is done when a round leaves
nothing to do.

    one part, until enough URLs wait ─► parts for all nodes, each crawled to its end ─► URLs that
    they found for each other: if few, one part continues alone; if many, all nodes do

So a small site is one task, and a chain of pages, each linked by the one before, is followed by one
node instead of moving at every step. There are more parts than nodes: a faster node takes more of
them, and a node that vanishes loses less.

The site says how many nodes may crawl one host; together they are as polite as one. Different hosts
of the seeds are always crawled in parallel, each by one part.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.frontier.scope import host_key, is_web_url, origin_of, urls_of
from headgate.frontier.seen_urls import UrlSeen, url_hashes
from headgate.model.site import BREADTH_FIRST, Access, Requisites, Site
from headgate.model.task import SitePart

__all__ = [
    "HostGroups",
    "Leftover",
    "PartResult",
    "PlannedPart",
    "can_help",
    "first_round",
    "groups_of_hosts",
    "is_shared",
    "next_round",
]

HostGroups: TypeAlias = tuple[tuple[str, ...], ...]

_URLS_A_NODE = 200
"""Waiting URLs that make one more node worth while."""
_SHARES_A_NODE = 3
_MOST_GROUPS = 8
"""Each group of hosts takes a slot of a node, however few pages it has."""


def is_shared(site: Site) -> bool:
    """Whether several nodes may crawl it, with the same result as one. Limits on depth, pages or
    bytes, an order over all pages, and page requisites need one node that sees the whole site."""
    bounds = (site.depth, site.max_pages, site.max_bytes, site.max_time)
    whole = all(bound is None for bound in bounds)
    plain = site.url_order == BREADTH_FIRST and not site.has_topic
    plain = plain and site.requisites is Requisites.NONE and site.access == Access()
    several = site.nodes_at_once > 1 or len(groups_of_hosts(site)) > 1
    return several and whole and plain and all(map(is_web_url, site.seeds))


def groups_of_hosts(site: Site) -> HostGroups:
    """Hosts of its seeds, in groups that are crawled in parallel.

    >>> groups_of_hosts(Site("s", ("http://a.org/", "https://www.a.org/x", "http://b.org/")))
    (('a.org',), ('b.org',))
    """
    hosts = tuple(dict.fromkeys(map(host_key, site.seeds)))
    return tuple(hosts[number::_MOST_GROUPS] for number in range(min(len(hosts), _MOST_GROUPS)))


@dataclass(frozen=True, slots=True)
class PlannedPart:
    part: SitePart
    nodes: int
    """That crawl its hosts at once: each waits that many times longer between requests."""


def first_round(site: Site, groups: HostGroups) -> list[PlannedPart]:
    enough = _URLS_A_NODE * site.nodes_at_once if site.nodes_at_once > 1 else None
    return [
        PlannedPart(SitePart(site.name, 1, groups, group, enough=enough), 1)
        for group in range(len(groups))
    ]


def next_round(
    site: Site, before: SitePart, waiting: Mapping[int, int], nodes: int, explored: Iterable[str]
) -> list[PlannedPart]:
    """The parts of the next round; none: the site is done. ``before``: any part of the last round;
    ``waiting``: URLs by group of hosts; ``nodes``: how many are connected."""
    planned: list[PlannedPart] = []
    origins = tuple(sorted(explored))
    for group, urls in sorted(waiting.items()):
        helpers = max(min(site.nodes_at_once, nodes), 1)
        at_once = max(min(helpers, urls // _URLS_A_NODE), 1)
        shares = _SHARES_A_NODE * at_once if at_once > 1 else 1
        enough = _URLS_A_NODE * helpers if shares == 1 and helpers > 1 else None
        planned += [
            PlannedPart(
                SitePart(
                    site.name,
                    before.round + 1,
                    hosts=before.hosts,
                    group=group,
                    share=share,
                    shares=shares,
                    enough=enough,
                    explored=origins,
                ),
                at_once,
            )
            for share in range(shares)
        ]
    return planned


def can_help(site: Site, part: SitePart, waiting: int, nodes: int) -> bool:
    """Whether a part that crawls a group of hosts alone should be split, with so many ``nodes``
    connected."""
    helpers = min(site.nodes_at_once, nodes)
    return part.shares == 1 and helpers > 1 and waiting >= _URLS_A_NODE * helpers


@dataclass(frozen=True, slots=True)
class PartResult:
    part: SitePart
    finished: bool
    """Nothing is left to do in it; else it ended because enough URLs wait to be split."""
    entries: Callable[[], Iterable[JournalEntry]]
    """What it recorded; read twice."""
    robots: Iterable[str]
    """URLs of robots.txt that it requested."""


@dataclass(slots=True)
class Leftover:
    """What is left to do of a site after the rounds so far."""

    to_do: dict[str, int] = field(default_factory=dict)
    """URLs with their depth."""
    explored: set[str] = field(default_factory=set)
    """Origins whose sitemaps were read."""
    joined: list[str] = field(default_factory=list)
    """Targets of redirected seeds: their hosts belong to the site, too."""
    _ended: UrlSeen = field(default_factory=UrlSeen)

    def add_results(self, results: Sequence[PartResult]) -> None:
        """All results of a round. A finished part has dealt with all of its URLs, also with those
        that have no entry because robots.txt forbids them."""
        for result in results:
            self._take_ends(result)
        for result in results:
            for entry in result.entries():
                for url in entry.found:
                    if url not in self._ended:
                        self.to_do.setdefault(url, entry.depth)

    def waiting(self, hosts: HostGroups) -> dict[int, int]:
        """Number of URLs to do, by group of hosts."""
        urls = list(self.to_do)
        counts = (len(urls_of(SitePart("", hosts=hosts, group=k))(urls)) for k in range(len(hosts)))
        return {group: count for group, count in enumerate(counts) if count}

    def asks(self, part: SitePart) -> dict[int, list[str]]:
        """The URLs to do of a part, by depth."""
        found: dict[int, list[str]] = {}
        for url in urls_of(part)(list(self.to_do)):
            found.setdefault(self.to_do[url], []).append(url)
        return found

    def met(self) -> array[int]:
        """Hashes of all URLs that any part has found; the next round need not report them."""
        return self._ended.hashes() + array("Q", url_hashes(self.to_do))

    def _take_ends(self, result: PartResult) -> None:
        mine = urls_of(result.part)
        self.explored.update(map(origin_of, result.robots))
        for entry in result.entries():
            if entry.outcome is not UrlOutcome.FOUND:
                self._end([entry.url])
            if result.finished:
                self._end(mine(entry.found))
            if entry.depth == 0:
                self.joined += [url for url in entry.found if url not in self.joined]
        if result.finished:
            self._end(mine(list(self.to_do)))

    def _end(self, urls: Sequence[str]) -> None:
        self._ended.add(urls)
        for url in urls:
            self.to_do.pop(url, None)
