"""A task: one visit of one site, which is what a fleet runs."""

from __future__ import annotations

import msgspec

from headgate.model.site import Site

__all__ = ["Apart", "KeptVisit", "SurveyedServers", "Task"]


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

    @property
    def name(self) -> str:
        return self.site.name
