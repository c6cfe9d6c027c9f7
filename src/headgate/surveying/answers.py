"""Results of fetching robots.txt and pages in a survey."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Allows", "Harvest", "RobotsAnswer"]

Allows = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """robots.txt of one origin, and the cost of fetching it."""

    allows: Allows
    crawl_delay: float = 0.0
    requests: int = 1
    wire_bytes: int = 0
    trouble: str = ""
    """Why it is unavailable, so that nothing may be requested; empty: it is available."""


@dataclass(slots=True)
class Harvest:
    """What one page brought."""

    new_hosts: list[str] = field(default_factory=list)
    """External hosts that were not linked to before."""
    unwanted: set[str] = field(default_factory=set)
    """Hosts that were ignored, because the server has named too many already."""
