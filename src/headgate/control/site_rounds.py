"""A site that several nodes crawl: which parts it has, and what each is left to do. Pure.

A round is parts that run at the same time, each for URLs that no other is for (`site_parts`). What
pages of one link to and another is for waits for the next round. The site is done when a round
leaves nothing.

    one part, until enough URLs wait ─► parts for all nodes, each to its end ─► what they found of
    each other's: little, and one part goes on alone; or much, and all do

So a small site is one task. A chain of pages, each linked by the one before, is followed by one
node, and not handed on at every step. There are more shares than nodes: who is faster takes more of
them, and who vanishes loses less.

At one host there are as many nodes as the site says, together as polite as one. Hosts that seeds
are at are crawled beside each other without being asked: for each of them its part is alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.scope import is_web_url, origin_of
from headgate.frontier.seen import UrlSeen, url_hashes
from headgate.frontier.site_parts import host_key, urls_of
from headgate.model.access import Access
from headgate.model.site import BREADTH_FIRST, Requisites, Site
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
"""That wait, to make it worth while for one more node to help."""
_SHARES_A_NODE = 3
_MOST_GROUPS = 8
"""Of hosts: each takes a slot of a node, however little is at them."""


def is_shared(site: Site) -> bool:
    """Whether several nodes may crawl it, and come to the pages that one would. Bounds that count
    pages, bytes or links from a seed, an order among all pages and what pages need to be shown can
    only be kept by somebody who sees all."""
    bounds = (site.depth, site.max_pages, site.max_bytes, site.max_time)
    whole = all(bound is None for bound in bounds)
    plain = site.url_order == BREADTH_FIRST and not site.has_topic
    plain = plain and site.requisites is Requisites.NONE and site.access == Access()
    several = site.nodes_at_once > 1 or len(groups_of_hosts(site)) > 1
    return several and whole and plain and all(map(is_web_url, site.seeds))


def groups_of_hosts(site: Site) -> HostGroups:
    """Hosts of its seeds that are crawled beside each other.

    >>> groups_of_hosts(Site("s", ("http://a.org/", "https://www.a.org/x", "http://b.org/")))
    (('a.org',), ('b.org',))
    """
    hosts = tuple(dict.fromkeys(map(host_key, site.seeds)))
    return tuple(hosts[number::_MOST_GROUPS] for number in range(min(len(hosts), _MOST_GROUPS)))


@dataclass(frozen=True, slots=True)
class PlannedPart:
    part: SitePart
    nodes: int
    """That are at its hosts at once: so much more seldom each asks."""


def first_round(site: Site, groups: HostGroups) -> list[PlannedPart]:
    enough = _URLS_A_NODE * site.nodes_at_once if site.nodes_at_once > 1 else None
    return [
        PlannedPart(SitePart(site.name, 1, groups, group, enough=enough), 1)
        for group in range(len(groups))
    ]


def next_round(
    site: Site, before: SitePart, waiting: Mapping[int, int], nodes: int, explored: Iterable[str]
) -> list[PlannedPart]:
    """Where so many URLs wait at each group of hosts, with so many nodes here; none: the site is
    done. ``before``: any part of the round that has ended."""
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
                    site.name, before.round + 1, before.hosts, group, share, shares, enough, origins
                ),
                at_once,
            )
            for share in range(shares)
        ]
    return planned


def can_help(site: Site, part: SitePart, waiting: int, nodes: int) -> bool:
    """Whether a part that has a group of hosts for itself should be shared out, now that so many
    nodes are here."""
    helpers = min(site.nodes_at_once, nodes)
    return part.shares == 1 and helpers > 1 and waiting >= _URLS_A_NODE * helpers


@dataclass(frozen=True, slots=True)
class PartResult:
    part: SitePart
    finished: bool
    """Nothing is left of what it was for; else enough waits to be shared out."""
    entries: Callable[[], Iterable[JournalEntry]]
    """What it recorded; asked for twice."""
    robots: Iterable[str]
    """URLs of robots.txt that it asked for."""


@dataclass(slots=True)
class Leftover:
    """Of a site, what the rounds until now leave to do."""

    to_do: dict[str, int] = field(default_factory=dict)
    """URLs, and at which depth."""
    explored: set[str] = field(default_factory=set)
    """Origins whose sitemaps were read."""
    joined: list[str] = field(default_factory=list)
    """Where seeds redirected to: their hosts are the site's, too."""
    _ended: UrlSeen = field(default_factory=UrlSeen)

    def take_in(self, results: Sequence[PartResult]) -> None:
        """All of a round. What a part that finished knew of its own came to an end, also where
        nothing says so: robots.txt forbade it."""
        for result in results:
            self._take_ends(result)
        for result in results:
            for entry in result.entries():
                for url in entry.found:
                    if url not in self._ended:
                        self.to_do.setdefault(url, entry.depth)

    def waiting(self, hosts: HostGroups) -> dict[int, int]:
        """How many URLs, by group of hosts."""
        urls = list(self.to_do)
        counts = (len(urls_of(SitePart("", hosts=hosts, group=k))(urls)) for k in range(len(hosts)))
        return {group: count for group, count in enumerate(counts) if count}

    def asks(self, part: SitePart) -> dict[int, list[str]]:
        """By depth, what waits for a part."""
        found: dict[int, list[str]] = {}
        for url in urls_of(part)(list(self.to_do)):
            found.setdefault(self.to_do[url], []).append(url)
        return found

    def met(self) -> array[int]:
        """Hashes of all URLs that any part came upon and the next round need not tell of."""
        return self._ended.hashes() + array("Q", url_hashes(self.to_do))

    def _take_ends(self, result: PartResult) -> None:
        mine = urls_of(result.part)
        self.explored.update(map(origin_of, mine(list(result.robots))))
        for entry in result.entries():
            if entry.outcome is not Outcome.FOUND:
                self._end([entry.url])
            if result.finished:
                self._end(mine(entry.found))
            if entry.depth == 0:
                self.joined += [url for url in entry.found if url not in self.joined]
        if result.finished:
            self._end(mine(list(self.to_do)))

    def _end(self, urls: Sequence[str]) -> None:
        self._ended.meet(urls)
        for url in urls:
            self.to_do.pop(url, None)
