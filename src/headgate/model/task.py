"""A task: one visit of one site, which is what a fleet runs."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.site import Site

__all__ = ["Apart", "KeptVisit", "SurveyedServers", "Task"]


@dataclass(frozen=True, slots=True)
class KeptVisit:
    """What a keeper wants of a visit."""

    volume: str
    """The stamp of the run that holds what it stores."""
    new_bytes: float
    """On the line, for pages that it finds; what it does not come to waits for another visit."""
    believe: bool = False
    """However strange what it finds looks: it was found before."""


@dataclass(frozen=True, slots=True)
class SurveyedServers:
    """Servers to be surveyed, where a task is no crawl. What they link to is for whoever gave the
    task to go on with."""

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
    """Domains within theirs that are servers of their own, and asked by somebody else."""
    whole_registration: bool = False
    """A server is all that was registered under one domain, not a start's host alone."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Where a task that is run for somebody else has its files: apart from all others, for they are
    taken away when it has ended."""

    folder: str
    """Within the folder that is the fleet's own; a collection by itself."""
    stamp: str
    """Of the run that they will belong to."""


@dataclass(frozen=True, slots=True)
class Task:
    """A site has one task at a time, so a task that runs goes by its site's name.

    The site's deadline counts from the moment at which control is given the task."""

    site: Site
    visit: int = 1
    """Which visit of the site in this run; a crawl has one."""
    asks: tuple[str, ...] | None = None
    """The URLs that this visit asks for, best first; None: the whole site."""
    kept: KeptVisit | None = None
    """None: it is a crawl's."""
    apart: Apart | None = None
    """None: its files are the collection's."""
    survey: SurveyedServers | None = None
    """None: its site is crawled. Else the site is but a name and the hosts that are asked."""

    @property
    def name(self) -> str:
        return self.site.name
