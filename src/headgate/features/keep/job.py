"""The job of a keeper: what a user asked for, checked, and who watches it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.engine.site_inputs import access_beside, asked_bandwidth, ready_sites
from headgate.engine.watcher import Watcher
from headgate.features.keep.recrawl.policies import DEFAULT_POLICY, KeepPolicy, keep_policy
from headgate.features.keep.status import KeepStatus
from headgate.frontier.scope import Scope, host_key, is_web_url
from headgate.model.budget import Budget, Quota
from headgate.model.errors import UserMistake
from headgate.model.grid import GridTerms
from headgate.model.keeping import Staleness
from headgate.model.site import Access, Site
from headgate.model.units import UNLIMITED, BytesPerSecond, parse_duration
from headgate.reading.urls import normalise
from headgate.site_file.parsing import SiteFile, parse_site_file, site_error

__all__ = [
    "KeepJob",
    "KeepRequest",
    "KeepWatcher",
    "Overlap",
    "Stoppable",
    "overlaps",
    "read_keep_file",
]


# The job of a keeper, and its observer.


class KeepJob(msgspec.Struct, frozen=True):
    """What is to be kept, and how."""

    sites: tuple[Site, ...]
    budget: Budget
    out: Path
    contact: str
    """Sent to servers."""
    policy: KeepPolicy
    seconds: float = math.inf
    """How long it runs."""
    once: bool = False
    """End when nothing is due."""
    reread: Callable[[bool], SiteFile | None] = lambda _: None
    """Returns the site file if it has changed since the last call, or if called with True; raises
    if it is invalid."""
    tend_seconds: float = 1.0
    """Time between two checks for something to do, if nothing happens."""
    crew: Callable[[], int] | None = None
    """Returns how many visits can run at once on the machines that are connected now; None: as many
    as the budget has crawlers."""

    @property
    def slots(self) -> int:
        """Most visits at once."""
        return self.budget.crawlers if self.crew is None else self.crew()


class Stoppable(Protocol):
    """A keeper, as seen by its watcher."""

    def stop(self, reason: str = "stopped") -> None:
        """End in order."""
        ...

    def reread_site_file(self) -> None:
        """Read the site file again now."""
        ...


KeepWatcher: TypeAlias = Watcher[Stoppable, KeepStatus]
"""It sees the status every minute, and at the end."""


@dataclass(slots=True)
class KeepRequest:
    """A request for a keeper: a site file, and the options of the command line.

    The file is read again when it has changed; the options still apply.
    """

    path: Path
    read: Callable[[Path], str]
    """Returns the file's text, or raises what is wrong with it."""
    bandwidth: str | None = None
    quota: str | None = None
    crawlers: int | None = None
    make_way: bool = False
    objective: str | None = None
    policy: str = DEFAULT_POLICY
    contact: str = ""
    duration: str | None = None
    once: bool = False
    grid: GridTerms = field(default=GridTerms(), init=False)
    """From the file as last read."""
    _seen: tuple[int, int, int] | None = field(default=None, init=False)

    def job(self, out: Path) -> KeepJob:
        contents = self._contents()
        seconds = math.inf if self.duration is None else parse_duration(self.duration)
        if seconds <= 0:
            raise UserMistake("--for must be longer than 0, like 30d")
        return KeepJob(
            contents.sites,
            contents.budget,
            out=out,
            contact=contents.budget.contact,
            policy=keep_policy(self.policy, contents.budget.staleness),
            seconds=seconds,
            once=self.once,
            reread=self.reread,
        )

    def reread(self, anyway: bool) -> SiteFile | None:
        """None: it seems unchanged by time, size and inode; with ``anyway`` it is read all the
        same. A file that is missing for a moment is being written."""
        if not anyway and self._signature() in (None, self._seen):
            return None
        return self._contents()

    def _contents(self) -> SiteFile:
        self._seen = self._signature()
        rate = asked_bandwidth(self.bandwidth)
        contents = read_keep_file(self.read(self.path), str(self.path), bandwidth=rate)
        self.grid = contents.grid
        beside = self.path.parent
        sites = [
            site
            if site.access == Access()
            else replace(site, access=access_beside(site.access, beside))
            for site in contents.sites
        ]
        return SiteFile(self._with_options(contents.budget), ready_sites(sites))

    def _with_options(self, budget: Budget) -> Budget:
        zone = budget.calendar.zone
        staleness = Staleness(self.objective) if self.objective else budget.staleness
        return replace(
            budget,
            quota=Quota.parse(self.quota, zone) if self.quota else budget.quota,
            crawlers=self.crawlers or budget.crawlers,
            make_way=self.make_way or budget.make_way,
            staleness=staleness,
            contact=self.contact or budget.contact,
        )

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def read_keep_file(text: str, path: str, *, bandwidth: BytesPerSecond | None = None) -> SiteFile:
    """Reads a site file for a keeper: every site needs seeds, and no page may belong to two sites.

    Parse a site file, or raise a `SiteFileError`; ``bandwidth`` replaces the file's.
    """
    contents = parse_site_file(text, path, bandwidth=bandwidth, unless_given=UNLIMITED)
    for site in contents.sites:
        if not site.seeds:
            problem = 'a site that is kept needs seeds; add seeds = ["https://example.org/"]'
            raise site_error(text, path, site.name, "seeds", problem)
    for found in overlaps(contents.sites):
        problem = (
            f"{found.seed} belongs to [site.{found.other}] too, and a page is kept by one site;"
            f" add it to that one's exclude, or drop it here"
        )
        raise site_error(text, path, found.site, "seeds", problem)
    return contents


_MOST_ON_ONE_HOST = 20


@dataclass(frozen=True, slots=True)
class Overlap:
    """Finds sites that share pages: a keeper fetches each page once, so it must belong to one site.

    A seed of one site is in the scope of another.
    """

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
                on_host[site.name] = Scope.for_site(site)
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
