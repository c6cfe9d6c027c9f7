"""A site: what the user wants crawled, and what earlier visits taught us about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from headgate.model.units import Bytes, BytesPerSecond, Seconds

__all__ = ["OnDeadline", "Site", "SiteStatistics"]


class OnDeadline(StrEnum):
    """What happens to a site whose deadline has come before its end."""

    GO_ON = "go-on"
    """It is crawled to its end, late."""
    STOP = "stop"
    """It ends there; what was fetched stays, and breadth-first order has put the pages nearest to
    the seeds first."""


@dataclass(frozen=True, slots=True)
class SiteStatistics:
    """What past runs measured."""

    alpha: float = 1.0
    """Zhu 2020, Eq. 17: a visit takes ``alpha * bytes / rate`` seconds. Positive."""


@dataclass(frozen=True, slots=True)
class Site:
    """A host, a folder of a host, or a set of folders, visited as one task."""

    name: str
    seeds: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    """Regular expressions; a URL is in the site when one of them is found in it. None: all are."""
    exclude: tuple[str, ...] = ()
    depth: int | None = None
    """Links followed from a seed at the most; None: no bound."""
    deadline: Seconds | None = None
    """Seconds from the start of the run; None: none."""
    on_deadline: OnDeadline = OnDeadline.GO_ON
    expect: Bytes | None = None
    """Bytes the visit will transfer; None: to be predicted."""
    max_rate: BytesPerSecond | None = None
    """What the server can give or may be asked for; None: the budget is the only bound."""
    statistics: SiteStatistics = field(default=SiteStatistics())
