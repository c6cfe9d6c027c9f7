"""How a site run fares: counters that its owner keeps and others take copies of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from headgate.model.run_report import FocusReport

__all__ = ["Harvest", "Progress", "SiteState"]


class SiteState(StrEnum):
    WAITING = "waiting"
    CRAWLING = "crawling"
    DONE = "done"
    STOPPED = "stopped"
    """Ended with URLs left to do: a deadline, a stop, a fault."""


@dataclass(slots=True)
class Harvest:
    """What came in, counted when it lands; `Progress` tells of it once it is durable."""

    pages: int = 0
    payload_bytes: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def copy(self) -> Harvest:
        return Harvest(self.pages, self.payload_bytes, self.errors.copy())


@dataclass(slots=True)
class Progress:
    """Of one site run, what an interrupted run stored before included."""

    site: str
    state: SiteState = SiteState.WAITING
    started: float | None = None
    """By the clock of the machine, like ``ended``."""
    ended: float | None = None
    pages: int = 0
    """Responses that are pages, neither redirects nor errors, and durable."""
    payload_bytes: int = 0
    """Durable."""
    fetches: int = 0
    """That ended, for pages and all else, whatever came of them."""
    wire_bytes: int = 0
    """Bytes on the line, as near as can be had; what the budget counts."""
    earlier_wire_bytes: int = 0
    """The part of ``wire_bytes`` that an interrupted run had moved before."""
    under_way_bytes: int = 0
    """On the line for responses not yet whole: counted in ``wire_bytes`` once they are."""
    to_do: int = 0
    seen: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    """By failure kind, or by status such as "404"; durable, too."""
    fetch_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    reason: str = ""
    """Why it ended."""
    given_up: dict[str, str] = field(default_factory=dict)
    """Hosts, and why."""
    focus: FocusReport | None = None
    """None: breadth-first, and no topic."""

    def keep(self, harvest: Harvest) -> None:
        """So much is durable now."""
        self.pages = harvest.pages
        self.payload_bytes = harvest.payload_bytes
        self.errors = harvest.errors

    @property
    def arrived_bytes(self) -> int:
        """All that came over the line until now."""
        return self.wire_bytes + self.under_way_bytes

    @property
    def mean_wire_bytes(self) -> float | None:
        """Per fetch; None before the first."""
        return self.wire_bytes / self.fetches if self.fetches else None
