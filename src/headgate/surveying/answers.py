"""What robots.txt says to a survey, and what a page brings it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Allows", "Harvest", "RobotsAnswer"]

Allows = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """robots.txt of one origin, and what it cost to learn it."""

    allows: Allows
    crawl_delay: float = 0.0
    requests: int = 1
    wire_bytes: int = 0
    trouble: str = ""
    """Why it could not be had, so that nothing may be asked for; empty: it was."""


@dataclass(slots=True)
class Harvest:
    """What one page brought."""

    new_hosts: list[str] = field(default_factory=list)
    """External hosts that nobody had linked to before."""
    unwanted: set[str] = field(default_factory=set)
    """Hosts that are not taken in, because the server has named too many already."""
