"""The progress of a site run: counters that its owner updates and others copy."""

from __future__ import annotations

import math
from collections import Counter
from enum import StrEnum

import msgspec
from msgspec import structs

from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.encoding import Label, Span, Tally, Text, Volume
from headgate.model.fetch import LEFT_OUT, REDIRECTS
from headgate.model.page import Role
from headgate.model.run_report import FocusReport, LeftOut
from headgate.model.score_order import QueueTally

__all__ = [
    "HANDED_OVER",
    "SHARED_OUT",
    "FetchCounts",
    "Growth",
    "Progress",
    "Sizes",
    "TaskState",
]

_LEAST_BYTES = 100
"""Lower bound for logarithms: that of an empty failed fetch would dominate the mean."""


class Sizes(msgspec.Struct):
    """Sizes of the responses of one depth."""

    responses: Tally = 0
    wire_bytes: Volume = 0
    log_bytes: Span = 0.0
    """Sum of the logarithms of their wire bytes."""

    def add(self, wire_bytes: int) -> None:
        self.responses += 1
        self.wire_bytes += wire_bytes
        self.log_bytes += math.log(max(wire_bytes, _LEAST_BYTES))


class Growth(msgspec.Struct):
    """The counters of a crawl from which the site's size is estimated.

    By depth: URLs known, URLs settled, new URLs found on the settled ones, and their sizes; pages
    of one depth are more alike than those of different depths. In addition there are running means
    in which later pages weigh more, since what a crawl meets first (navigation, indexes) is not
    typical. The k-th weight of a mean grows like k**e; it takes one addition per page.

    The counters of one site run, including what an interrupted run did before.
    """

    known: list[Tally] = msgspec.field(default_factory=list)
    """URLs by depth, settled or to do."""
    settled: list[Tally] = msgspec.field(default_factory=list)
    """Those of them that are done."""
    brought: list[Tally] = msgspec.field(default_factory=list)
    """New URLs that the settled ones of each depth linked to."""
    sizes: list[Sizes] = msgspec.field(default_factory=list)
    """By depth, of the responses of settled URLs."""
    responses: Tally = 0
    """Of all depths."""
    late_bytes: Span = 0.0
    """Mean wire bytes, weights growing like k."""
    late_brought: Span = 0.0
    """Mean of new URLs per page below the seeds, weights growing like k**3."""
    below: Tally = 0
    """Pages in that mean."""

    def record(self, entry: JournalEntry) -> None:
        """Count an entry of the frontier's journal, new or replayed."""
        found = len(entry.found)
        self.found(entry.depth, found)
        if entry.outcome in (UrlOutcome.PAGE, UrlOutcome.DUPLICATE):
            self.settle(entry.depth - 1, found)
        elif entry.outcome is not UrlOutcome.FOUND:
            self.settle(entry.depth)

    def found(self, depth: int, urls: int) -> None:
        """Count new URLs, from whatever source."""
        self._reach(depth)
        self.known[depth] += urls

    def settle(self, depth: int, brought: int = 0) -> None:
        """A URL is done and linked to so many new ones (which are counted by `found` as well)."""
        self._reach(depth)
        self.settled[depth] += 1
        self.brought[depth] += brought
        if depth:
            self.below += 1
            self.late_brought += (brought - self.late_brought) * min(1.0, 4 / (self.below + 3))

    def came(self, depth: int, wire_bytes: int) -> None:
        """Count the response of a settled URL."""
        self._reach(depth)
        self.sizes[depth].add(wire_bytes)
        self.responses += 1
        self.late_bytes += (wire_bytes - self.late_bytes) * 2 / (self.responses + 1)

    def _reach(self, depth: int) -> None:
        missing = depth + 1 - len(self.known)
        if missing > 0:
            for counts in (self.known, self.settled, self.brought):
                counts.extend([0] * missing)
            self.sizes.extend(Sizes() for _ in range(missing))


# The progress of one run.


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


class FetchCounts(msgspec.Struct):
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

    def copy(self) -> FetchCounts:
        return structs.replace(self, errors=self.errors.copy())


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
    """Fetches that ended for good, whatever their outcome, including robots.txt and sitemaps; tries
    that were repeated are not among them."""
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

    def begin(self, now: float) -> None:
        """``now`` and the end: seconds since its task was started."""
        self.state, self.reason = TaskState.CRAWLING, ""
        self.started, self.ended = now, None

    def end(self, now: float, reason: str, *, done: bool) -> None:
        """``done``: nothing is left."""
        self.state = TaskState.DONE if done else TaskState.STOPPED
        self.reason, self.ended = reason, now

    def received(self, wire_bytes: int) -> None:
        """Bytes came, of whatever fetch; they are not under way any more."""
        self.wire_bytes += wire_bytes

    def take_over(self, landed: FetchCounts) -> None:
        """Counters of what is durable now."""
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
