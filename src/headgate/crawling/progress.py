"""The progress of a site run: counters that its owner updates and others copy."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import msgspec

from headgate.crawling.growth import Growth
from headgate.model.fetch import LEFT_OUT
from headgate.model.left_out import LeftOut
from headgate.model.page import Role
from headgate.model.run_report import FocusReport
from headgate.model.score_order import QueueTally
from headgate.model.told_values import Label, Span, Tally, Text, Volume

__all__ = ["HANDED_OVER", "REDIRECTS", "SHARED_OUT", "Landed", "Progress", "TaskState"]

REDIRECTS = frozenset((301, 302, 303, 307, 308))
HANDED_OVER = "handed over"
"""Reason of a site run whose site is continued in another process, from its journal."""
SHARED_OUT = "to be shared out"
"""Reason of a part of a site that ended because enough URLs wait for several nodes."""


class TaskState(StrEnum):
    WAITING = "waiting"
    CRAWLING = "crawling"
    DONE = "done"
    STOPPED = "stopped"
    """Ended with URLs left: a deadline, a stop, a fault."""


class Landed(msgspec.Struct):
    """What was fetched, counted at once; `Progress` has it once it is durable."""

    pages: int = 0
    unchanged: int = 0
    payload_bytes: int = 0
    errors: Counter[str] = msgspec.field(default_factory=Counter)

    def count(
        self, role: str, status: int, error: str, payload_bytes: int, *, unchanged: bool
    ) -> None:
        """Count the end of a fetch, whatever its outcome."""
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
    """The counters of one site run, including what an interrupted run stored before. A Struct,
    because it is copied at every look."""

    site: Label
    state: TaskState = TaskState.WAITING
    started: Span | None = None
    """Seconds since its task was started, like ``ended``; None: it has not begun."""
    ended: Span | None = None
    pages: Tally = 0
    """Durable responses that are neither redirects nor errors."""
    payload_bytes: Volume = 0
    """Durable."""
    fetches: Tally = 0
    """Fetches that ended, whatever their outcome, including robots.txt and sitemaps."""
    wire_bytes: Volume = 0
    """Bytes on the line, as near as can be measured; what the budget counts."""
    earlier_wire_bytes: Volume = 0
    """The part of ``wire_bytes`` from before an interruption."""
    under_way_bytes: Volume = 0
    """Wire bytes of responses in progress, counted in ``wire_bytes`` once they are whole."""
    announced_bytes: Volume = 0
    """Still to come of responses in progress, by their Content-Length."""
    announced_fetches: Tally = 0
    """Number of responses that these bytes belong to."""
    to_do: Tally = 0
    """URLs known and not settled, including those in progress."""
    seen: Tally = 0
    growth: Growth = msgspec.field(default_factory=Growth)
    """Number, yield and sizes of URLs by depth."""
    seconds_per_request: Span = 0.0
    """Least time between requests, by politeness to its servers; 0: unknown."""
    pausing: bool = False
    """It waits for its own delay, with no fetch in progress."""
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    """Durable counts by failure kind, or by status such as "404"."""
    fetch_seconds: Span = 0.0
    first_byte_seconds: Span = 0.0
    reason: Text = ""
    """Why it ended."""
    given_up: dict[Label, Text] = msgspec.field(default_factory=dict)
    """Hosts that were given up, and why."""
    left_out: dict[Label, LeftOut] = msgspec.field(default_factory=dict)
    """URLs that were not fetched or not stored, by reason."""
    focus: FocusReport | None = None
    """None: breadth-first, and no topic."""
    queue: QueueTally | None = None
    """None: the site has a queue of its own."""
    restarts: Tally = 0
    """How often, in this leg, it was continued from its journal because its process died."""
    visit: Tally = 1
    """The task's number."""
    remembered: bool = False
    """It is done, and the site's memory is up to date."""
    unchanged: Tally = 0
    """Durable pages that are as an earlier run archived them."""

    def keep(self, landed: Landed) -> None:
        """Take over counters of what is durable now."""
        self.pages = landed.pages
        self.unchanged = landed.unchanged
        self.payload_bytes = landed.payload_bytes
        self.errors = landed.errors

    @property
    def arrived_bytes(self) -> int:
        """All wire bytes so far."""
        return self.wire_bytes + self.under_way_bytes

    @property
    def mean_wire_bytes(self) -> float | None:
        """Mean per fetch; None before the first."""
        return self.wire_bytes / self.fetches if self.fetches else None
