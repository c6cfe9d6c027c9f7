"""Sites that share pages: a keeper asks for each page once, so every page belongs to one site."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgate.frontier.scope import Scope, host_of, is_web_url
from headgate.model.site import Site
from headgate.reading.urls import normalise

__all__ = ["Overlap", "overlaps"]

_MOST_ON_ONE_HOST = 20


@dataclass(frozen=True, slots=True)
class Overlap:
    """A seed of one site lies within another."""

    site: str
    seed: str
    other: str


def overlaps(sites: Sequence[Site]) -> Iterator[Overlap]:
    """Seeds of sites that are pages of others, by hosts and expressions, in the sites' order.

    An expression with a host of its own (``://``) is not looked up for other hosts, and of very
    many sites on one host only some are compared: those that name no folder first, since they hold
    all there is. So the time is bounded.

    >>> host = Site("all", seeds=("https://a.org/",))
    >>> folder = Site("docs", seeds=("https://a.org/docs/",), include=("/docs/",))
    >>> [(found.site, found.other) for found in overlaps([host, folder])]
    [('docs', 'all')]
    """
    seeds = {site.name: _seeds(site) for site in sites}
    by_host: dict[str, dict[str, Scope]] = defaultdict(dict)
    for site in sorted(sites, key=lambda site: bool(site.include)):
        for seed in seeds[site.name]:
            on_host = by_host[_host(seed)]
            if len(on_host) < _MOST_ON_ONE_HOST:
                on_host[site.name] = Scope.of(site)
    for site in sites:
        for seed in seeds[site.name]:
            for other, scope in by_host[_host(seed)].items():
                if other != site.name and (seed in seeds[other] or _holds(scope, seed)):
                    yield Overlap(site.name, seed, other)


def _holds(scope: Scope, url: str) -> bool:
    return bool(scope.inside(scope.candidates([url])))


def _seeds(site: Site) -> tuple[str, ...]:
    seeds = (normalise(seed) for seed in site.seeds)
    return tuple(seed for seed in seeds if seed is not None and is_web_url(seed))


def _host(url: str) -> str:
    return host_of(url).removeprefix("www.")
