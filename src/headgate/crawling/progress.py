"""How a site run fares: counters that its owner keeps and others take copies of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Progress", "SiteState"]


class SiteState(StrEnum):
    WAITING = "waiting"
    CRAWLING = "crawling"
    DONE = "done"
    STOPPED = "stopped"
    """Ended with URLs left to do: a deadline, a stop, a fault."""


@dataclass(slots=True)
class Progress:
    """Of one site run, what an interrupted run stored before included."""

    site: str
    state: SiteState = SiteState.WAITING
    started: float | None = None
    """By the clock of the machine, like ``ended``."""
    ended: float | None = None
    pages: int = 0
    """Responses that are pages: neither redirects nor errors."""
    fetches: int = 0
    stored: int = 0
    """Fetches whose records are durable."""
    payload_bytes: int = 0
    wire_bytes: int = 0
    """Bytes on the line, as near as can be had; what the budget counts."""
    earlier_wire_bytes: int = 0
    """The part of ``wire_bytes`` that an interrupted run had moved before."""
    under_way_bytes: int = 0
    """On the line for responses not yet whole: counted in ``wire_bytes`` once they are."""
    to_do: int = 0
    seen: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    """By failure kind, or by status such as "404"."""
    slowest_fetch_seconds: float = 0.0
    fetch_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    reason: str = ""
    """Why it ended."""
    given_up: dict[str, str] = field(default_factory=dict)
    """Hosts, and why."""

    @property
    def arrived_bytes(self) -> int:
        """All that came over the line until now."""
        return self.wire_bytes + self.under_way_bytes

    @property
    def mean_wire_bytes(self) -> float | None:
        """Per fetch; None before the first."""
        return self.wire_bytes / self.fetches if self.fetches else None
