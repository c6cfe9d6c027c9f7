"""How a site run fares: counters that its owner keeps and others take copies of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from headgate.crawling.growth import Growth
from headgate.model.fetch import LEFT_OUT
from headgate.model.left_out import LeftOut
from headgate.model.page import Role
from headgate.model.run_report import FocusReport
from headgate.model.score_order import QueueTally

__all__ = ["HANDED_OVER", "REDIRECTS", "Landed", "Progress", "TaskState"]

REDIRECTS = frozenset((301, 302, 303, 307, 308))
HANDED_OVER = "handed over"
"""Why a site run ended whose site goes on from its journal in another process."""


class TaskState(StrEnum):
    WAITING = "waiting"
    CRAWLING = "crawling"
    DONE = "done"
    STOPPED = "stopped"
    """Ended with URLs left to do: a deadline, a stop, a fault."""


@dataclass(slots=True)
class Landed:
    """What came in, counted when it lands; `Progress` tells of it once it is durable."""

    pages: int = 0
    unchanged: int = 0
    payload_bytes: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def count(
        self, role: str, status: int, error: str, payload_bytes: int, *, unchanged: bool
    ) -> None:
        """A fetch's end, whatever came of it."""
        self.payload_bytes += payload_bytes
        if error in LEFT_OUT:
            return
        if error:
            self.errors[error] += 1
        elif status >= (400 if role == Role.PAGE else 500):  # most sites have no robots.txt
            self.errors[str(status)] += 1
        elif role == Role.PAGE and status not in REDIRECTS:
            self.pages += 1
            self.unchanged += unchanged

    def copy(self) -> Landed:
        return Landed(self.pages, self.unchanged, self.payload_bytes, self.errors.copy())


class Progress(msgspec.Struct):
    """Of one site run, what an interrupted run stored before included. A Struct, for it is copied
    at every look."""

    site: str
    state: TaskState = TaskState.WAITING
    started: float | None = None
    """Seconds after its task was started, like ``ended``; None: it was not begun."""
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
    announced_bytes: int = 0
    """Still to come for responses under way, by the lengths they told."""
    announced_fetches: int = 0
    """Fetches, of those to do, that these bytes belong to."""
    to_do: int = 0
    """URLs known and not settled; those under way are among them."""
    seen: int = 0
    growth: Growth = msgspec.field(default_factory=Growth)
    """How many URLs each depth has and brought, and how large they are."""
    seconds_per_request: float = 0.0
    """The least from one request to the next, by what is polite to its servers; 0: not known."""
    pausing: bool = False
    """It waits for its own delay, and nothing of it is under way."""
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    """By failure kind, or by status such as "404"; durable, too."""
    fetch_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    reason: str = ""
    """Why it ended."""
    given_up: dict[str, str] = msgspec.field(default_factory=dict)
    """Hosts, and why."""
    left_out: dict[str, LeftOut] = msgspec.field(default_factory=dict)
    """URLs that were never asked for, or not taken in, by reason."""
    focus: FocusReport | None = None
    """None: breadth-first, and no topic."""
    queue: QueueTally | None = None
    """None: it shares no queue with others."""
    restarts: int = 0
    """In this leg: it went on from its journal, because the process that crawled it died."""
    visit: int = 1
    """The task's."""
    remembered: bool = False
    """It is done, and what later runs know of the site has all that this one met."""
    unchanged: int = 0
    """Pages that are as an earlier run archived them; durable."""

    def keep(self, landed: Landed) -> None:
        """So much is durable now."""
        self.pages = landed.pages
        self.unchanged = landed.unchanged
        self.payload_bytes = landed.payload_bytes
        self.errors = landed.errors

    @property
    def arrived_bytes(self) -> int:
        """All that came over the line until now."""
        return self.wire_bytes + self.under_way_bytes

    @property
    def mean_wire_bytes(self) -> float | None:
        """Per fetch; None before the first."""
        return self.wire_bytes / self.fetches if self.fetches else None
