"""A web of site trees for surveys: sizes, depths and links by the laws of Nakahira's spec, seeded.

A site has 8 * Pareto(0.85) pages, at most 4000, in about sqrt(N) / 2 sections of unequal size. A
page hangs below an earlier page of its section, so depths grow to about 9. Some sites have spider
traps: calendars that go on to depth 20 and bring next to nothing. External links come at a rate of
the section, fewer with depth; a few pages are lists of links, most of them recognisable by name;
and each page of a site repeats what its template links to.

Where the spec is silent: a trap hangs below the home page, a list has Lomax many links (12 on the
average), and a site's own pool of targets has a third as many hosts as the site has pages.

Arrays over all pages, children by parent: some 60 bytes per page, 450,000 pages for 3,400 sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["DEEPEST", "PopularHosts", "VirtualWeb", "make_web"]

DEEPEST = 20
"""Where the paper stopped, and traps end."""
_DEEPEST_PAGE = 9
_MOST_PAGES = 4000
_HOSTS = 60_000

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VirtualWeb:
    """Pages in one row, site by site; a site's home page is its first."""

    first: Integers
    """Of each site, its home page; one more entry ends the last site."""
    site: Integers
    section: Integers
    depth: Integers
    parent: Integers
    """-1 for a home page."""
    listed: npt.NDArray[np.bool_]
    """Whether its name says that it is a list of links."""
    links_from: Integers
    """Where each page's external links begin in ``targets``."""
    targets: Integers
    """Numbers of external hosts, as they stand on the pages."""
    template: tuple[tuple[int, ...], ...]
    """Hosts that every page of a site links to."""
    hosts: int
    """Host numbers are below this; not all are linked to."""
    _children_from: Integers
    _children: Integers

    @property
    def pages(self) -> int:
        return len(self.site)

    @property
    def sites(self) -> int:
        return len(self.first) - 1

    def starts(self) -> Iterator[str]:
        return (f"http://{self.name(site)}/" for site in range(self.sites))

    def name(self, site: int) -> str:
        return f"s{site}.web.test"

    def host_name(self, number: int) -> str:
        return f"h{number}.out.test"

    def url(self, page: int) -> str:
        site = int(self.site[page])
        if self.parent[page] < 0:
            return f"http://{self.name(site)}/"
        word = "links-" if self.listed[page] else ""
        number = page - int(self.first[site])
        return f"http://{self.name(site)}/{self.section[page]}/{word}{number}.html"

    def page_of(self, url: str) -> int | None:
        """The page behind a URL of this web; None where a server would say 404."""
        name, _, path = url.removeprefix("http://").partition("/")
        label, _, rest = name.partition(".")
        site = _number(label.removeprefix("s"))
        if rest != "web.test" or site is None or site >= self.sites:
            return None
        if not path:
            return int(self.first[site])
        last = path.rpartition("/")[2]
        number = _number(last.removesuffix(".html").removeprefix("links-"))
        if number is None or number >= self.first[site + 1] - self.first[site]:
            return None
        page = int(self.first[site]) + number
        return page if self.url(page) == url else None

    def children(self, page: int) -> list[int]:
        begin, end = self._children_from[page], self._children_from[page + 1]
        found: list[int] = self._children[begin:end].tolist()
        return found

    def external(self, page: int) -> list[int]:
        """Hosts a page links to, as often as it does, the template's last."""
        begin, end = self.links_from[page], self.links_from[page + 1]
        found: list[int] = self.targets[begin:end].tolist()
        return found + list(self.template[self.site[page]])

    def pages_by_depth(self) -> Integers:
        """Pages at each depth, 0 to DEEPEST."""
        return np.bincount(self.depth, minlength=DEEPEST + 1)

    def hosts_by_depth(self) -> Integers:
        """Hosts by the least depth at which any page links to them."""
        least = np.full(self.hosts, DEEPEST + 1)
        per_page = np.diff(self.links_from)
        np.minimum.at(least, self.targets, np.repeat(self.depth, per_page))
        least[[number for numbers in self.template for number in numbers]] = 0
        return np.bincount(least[least <= DEEPEST], minlength=DEEPEST + 1)

    def deepest_by_site(self) -> Integers:
        """The greatest depth of each site tree."""
        return np.maximum.reduceat(self.depth, self.first[:-1])


def make_web(
    seed: int, sites: int = 3400, hosts: int = _HOSTS, most_pages: int = _MOST_PAGES
) -> VirtualWeb:
    """``hosts``: those that all sites may link to; each site has some of its own beside. A site has
    ``most_pages`` at the most, traps apart; with fewer than a trap has, it has none."""
    rng = np.random.default_rng(seed)
    trees = [_site_tree(rng, most_pages) for _ in range(sites)]
    sizes = np.array([len(tree.depth) for tree in trees])
    first = np.concatenate(([0], np.cumsum(sizes)))
    depth = np.concatenate([tree.depth for tree in trees])
    pages = len(depth)
    parent = np.concatenate(
        [np.where(tree.parent < 0, -1, tree.parent + start)
         for tree, start in zip(trees, first, strict=False)]
    )  # fmt: skip
    is_list = (rng.random(pages) < 0.02) & (depth <= 6)
    counts = rng.poisson(np.concatenate([tree.rate for tree in trees]))
    counts += np.where(is_list, (12 * rng.pareto(2, pages)).astype(np.int64), 0)
    listed = rng.random(pages) < np.where(is_list, 0.6, 0.01)
    popular = PopularHosts(rng, hosts)
    pool = np.maximum(5, sizes // 3)
    pool_from = hosts + np.concatenate(([0], np.cumsum(pool)[:-1]))

    def draw(of_site: Integers) -> Integers:
        """A target for each entry: half from the site's pool, half from the popular hosts."""
        own = pool_from[of_site] + (rng.random(len(of_site)) * pool[of_site]).astype(np.int64)
        return np.where(rng.random(len(of_site)) < 0.5, own, popular.draw(rng, len(of_site)))

    site = np.repeat(np.arange(sites), sizes)
    template = [
        tuple(draw(np.full(number, index)).tolist())
        for index, number in enumerate(rng.poisson(1.5, sites))
    ]
    order = np.argsort(parent, kind="stable")
    children = order[np.searchsorted(parent[order], 0) :]
    return VirtualWeb(
        first=first,
        site=site,
        section=np.concatenate([tree.section for tree in trees]),
        depth=depth,
        parent=parent,
        listed=listed,
        links_from=np.concatenate(([0], np.cumsum(counts))),
        targets=draw(np.repeat(site, counts)),
        template=tuple(template),
        hosts=int(hosts + pool.sum()),
        _children_from=np.searchsorted(parent[children], np.arange(pages + 1)),
        _children=children,
    )


class PopularHosts:
    """Hosts that anybody links to, by Zipf's law with exponent 0.9; their numbers are shuffled."""

    def __init__(self, rng: np.random.Generator, hosts: int) -> None:
        weights = np.arange(1, hosts + 1) ** -0.9
        self._up_to = np.cumsum(weights) / weights.sum()
        self._names = rng.permutation(hosts)

    def draw(self, rng: np.random.Generator, count: int) -> Integers:
        ranks = np.searchsorted(self._up_to, rng.random(count))
        return self._names[np.minimum(ranks, len(self._names) - 1)]


@dataclass(frozen=True, slots=True)
class _SiteTree:
    depth: Integers
    parent: Integers
    section: Integers
    rate: npt.NDArray[np.float64]
    """External links to be expected on each page, lists and template apart."""


def _site_tree(rng: np.random.Generator, most_pages: int) -> _SiteTree:
    size = int(min(most_pages, 8 * (1 + rng.pareto(0.85))))
    sections = max(1, round(np.sqrt(size) / 2))
    sizes = rng.multinomial(size - 1, rng.dirichlet(np.full(sections, 0.6)))
    rates = rng.gamma(0.35, 0.9, sections)
    depth, parent = [0], [-1]
    for count in sizes.tolist():
        _grow_section(rng, depth, parent, count)
    section = np.concatenate(([0], np.repeat(np.arange(sections), sizes)))
    rate = rates[section] * _depth_factor(np.array(depth))
    traps = rng.integers(1, 4) if rng.random() < (0.25 if size > 200 else 0.03) else 0
    traps = traps if most_pages > DEEPEST else 0
    for trap in range(traps):
        width = int(rng.integers(4, 41))
        _hang_trap(depth, parent, width)
        section = np.concatenate((section, np.full(width * DEEPEST, sections + trap)))
        rate = np.concatenate((rate, np.full(width * DEEPEST, 0.01)))
    return _SiteTree(np.array(depth), np.array(parent), section, rate)


def _grow_section(
    rng: np.random.Generator, depth: list[int], parent: list[int], count: int
) -> None:
    """The first page hangs below the home page, each other below an earlier one of the section."""
    begin = len(depth)
    for size in range(count):
        above = 0 if not size else begin + int(size * rng.random() ** 1.15)
        while depth[above] >= _DEEPEST_PAGE:
            above = begin + int(size * rng.random() ** 1.15)
        depth.append(depth[above] + 1)
        parent.append(above)


def _hang_trap(depth: list[int], parent: list[int], width: int) -> None:
    """Pages that lead on and on, ``width`` at each depth."""
    above = [0] * width
    for level in range(1, DEEPEST + 1):
        here = list(range(len(depth), len(depth) + width))
        depth.extend([level] * width)
        parent.extend(above)
        above = here


def _depth_factor(depth: Integers) -> npt.NDArray[np.float64]:
    return np.select([depth <= 2, depth <= 5, depth <= 7], [1.6, 1.0, 0.35], 0.06)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
