"""A task: one visit of one site, which is what a fleet runs."""

from __future__ import annotations

import msgspec

from headgate.model.site import Site

__all__ = ["Apart", "KeptVisit", "SitePart", "SurveyedServers", "Task"]


class KeptVisit(msgspec.Struct, frozen=True):
    """What a keeper's visit has beyond a crawl's."""

    volume: str
    """The stamp of the run that its pages are stored in."""
    new_bytes: float
    """Most wire bytes for new pages; those beyond wait for another visit."""
    believe: bool = False
    """Accept even implausible results, because an earlier visit had the same."""


class SurveyedServers(msgspec.Struct, frozen=True):
    """The servers of a task that is a survey. Hosts that they link to are left to whoever gave the
    task."""

    starts: tuple[str, ...]
    depth: int
    most_requests: int
    """To each server, like ``most_bytes``."""
    most_bytes: int
    delay: float
    """Seconds between two requests to a server."""
    least_yield: float = 0.0
    breadth_first: bool = False
    others: tuple[str, ...] = ()
    """Subdomains that are servers of their own and are surveyed by another task."""
    whole_registration: bool = False
    """A server is everything under its registered domain, not the start's host alone."""


class SitePart(msgspec.Struct, frozen=True):
    """Which URLs of a site a task is for, where several nodes crawl it: those of a group of hosts,
    and of these a share. All parts of a round together are the site."""

    site: str
    """The task's own site goes by another name, so that a node can have two parts of it."""
    round: int = 1
    """Those after the first go on where the one before stood."""
    hosts: tuple[tuple[str, ...], ...] = ()
    """Groups of the hosts that seeds are at, without ``www.``; any other host is of the first."""
    group: int = 0
    """Which of them."""
    share: int = 0
    """Which of ``shares``, from 0."""
    shares: int = 1
    enough: int | None = None
    """It ends as soon as so many URLs wait that others can help; None: when nothing is left."""
    explored: tuple[str, ...] = ()
    """Origins whose sitemaps were read in rounds before."""


class Apart(msgspec.Struct, frozen=True):
    """The folder of a task that is run for somebody else: its files are apart from all others,
    because they are taken away when the task has ended."""

    folder: str
    """Relative to the fleet's own folder; a collection by itself."""
    stamp: str
    """The stamp of the run that the files will belong to."""


class Task(msgspec.Struct, frozen=True):
    """One visit of a site. A site has one task at a time, so a running task is named by its site.

    The site's deadline counts from the moment at which the task is given to control."""

    site: Site
    visit: int = 1
    """Number of the site's visit in this run; always 1 in a crawl."""
    asks: tuple[str, ...] | None = None
    """The URLs that this visit fetches, best first; None: the whole site."""
    kept: KeptVisit | None = None
    """None: the task is part of a crawl."""
    apart: Apart | None = None
    """None: its files are in the collection."""
    survey: SurveyedServers | None = None
    """None: the site is crawled. Otherwise the site only gives the name and the hosts."""
    part: SitePart | None = None
    """None: the whole site."""
    nodes: int = 1
    """Nodes that may be at its hosts at once. The site's own settings are for one of them, but a
    Crawl-delay is for all together."""

    @property
    def name(self) -> str:
        return self.site.name

    @property
    def whose(self) -> tuple[str, int]:
        """The site that its result belongs to, and which of the site's results in that run it is;
        0: the only one."""
        if self.part is not None:
            return self.part.site, self.visit
        return self.site.name, 0 if self.kept is None else self.visit
