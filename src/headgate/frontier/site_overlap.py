"""Finds sites that share pages: a keeper fetches each page once, so it must belong to one site."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgate.frontier.scope import Scope, is_web_url
from headgate.frontier.site_parts import host_key
from headgate.model.site import Site
from headgate.reading.urls import normalise

__all__ = ["Overlap", "overlaps"]

_MOST_ON_ONE_HOST = 20


@dataclass(frozen=True, slots=True)
class Overlap:
    """A seed of one site is in the scope of another."""

    site: str
    seed: str
    other: str


def overlaps(sites: Sequence[Site]) -> Iterator[Overlap]:
    """Seeds that are in the scope of another site, in the order of the sites.

    To bound the time, only sites with a seed on the same host are compared, whatever other hosts an
    expression names, and at most 20 of them: those without ``include`` first, since they contain
    the most.

    >>> host = Site("all", seeds=("https://a.org/",))
    >>> folder = Site("docs", seeds=("https://a.org/docs/",), include=("/docs/",))
    >>> [(found.site, found.other) for found in overlaps([host, folder])]
    [('docs', 'all')]
    """
    seeds = {site.name: _seeds(site) for site in sites}
    by_host: dict[str, dict[str, Scope]] = defaultdict(dict)
    for site in sorted(sites, key=lambda site: bool(site.include)):
        for seed in seeds[site.name]:
            on_host = by_host[host_key(seed)]
            if len(on_host) < _MOST_ON_ONE_HOST:
                on_host[site.name] = Scope.of(site)
    for site in sites:
        for seed in seeds[site.name]:
            for other, scope in by_host[host_key(seed)].items():
                if other != site.name and (seed in seeds[other] or _holds(scope, seed)):
                    yield Overlap(site.name, seed, other)


def _holds(scope: Scope, url: str) -> bool:
    return bool(scope.inside(scope.candidates([url])))


def _seeds(site: Site) -> tuple[str, ...]:
    seeds = (normalise(seed) for seed in site.seeds)
    return tuple(seed for seed in seeds if seed is not None and is_web_url(seed))
