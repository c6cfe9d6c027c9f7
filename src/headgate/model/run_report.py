"""The report of one run, promised against kept, as report.json holds it.

Times are seconds from the start of the run unless a field says otherwise; rates are wire bytes per
second. A run that was interrupted and resumed is one run of several legs; its time is that of all
legs, without the pauses between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from headgate.model.encoding import Label, Tally, Text
from headgate.model.plan import Foreseen, RateSegment
from headgate.model.score_order import QueueTally, ScoreOrderReport

__all__ = [
    "AT_DEADLINE",
    "ENDS_AS_TOLD",
    "ENOUGH_NEW",
    "MAX_BYTES",
    "MAX_PAGES",
    "MAX_TIME",
    "MOST_EXAMPLES",
    "OUTGROWN",
    "PROCESS_DIED",
    "AuditReport",
    "FocusReport",
    "GridReport",
    "HostFigures",
    "LeftOut",
    "Leg",
    "NodeReport",
    "QuotaReport",
    "Reason",
    "RunReport",
    "SiteReport",
    "Stall",
    "TimelinePoint",
    "merged",
]

AT_DEADLINE = "deadline"
"""Reason of a site that was stopped at its deadline."""
MAX_PAGES, MAX_BYTES, MAX_TIME = "max_pages", "max_bytes", "max_time"
"""Reasons of sites that reached a limit set by the user."""
ENOUGH_NEW = "enough_new"
"""Reason of a keeper's visit that has fetched as much of new pages as it may."""
PROCESS_DIED = "its process died again and again"
"""Reason of a site that was crawling each time; a resumed run tries it again."""
OUTGROWN = "far larger than expected; tell its size with expect in the site file"
"""Reason of a site that reached the largest result which a manager accepts from a node."""
ENDS_AS_TOLD = (AT_DEADLINE, MAX_PAGES, MAX_BYTES, MAX_TIME, ENOUGH_NEW, OUTGROWN)
"""Stops that are final; after any other, a resumed run continues the site."""


class FocusReport(msgspec.Struct, frozen=True):
    """How well the order of a site's URLs served its focus."""

    order: Label
    focus: Text = ""
    """The topic's words; empty where files gave the topic, or there is none."""
    pages: Tally = 0
    """Pages of text that were judged."""
    relevant: Tally = 0
    curve: tuple[tuple[Tally, Tally], ...] = ()
    """(pages, relevant pages among them) in the order of fetching; empty without a topic."""
    faults: Tally = 0
    """Links that the user's own scorer could not score."""
    trouble: Text = ""
    """What was wrong with the user's own scorer, if anything."""


class SiteReport(msgspec.Struct, frozen=True):
    """One site's part."""

    name: str
    state: str
    """"done", "stopped", "crawling" or "waiting"."""
    pages: int
    fetches: int
    bytes: int
    """Of payload, as archived."""
    wire_bytes: int
    errors: dict[str, int]
    """Counts by failure kind, or by status such as "404"."""
    started: float | None
    finished: float | None
    deadline: float | None
    met: bool | None
    """Whether it was completed by its deadline, with pages and no host given up; None without a
    deadline, or while it runs."""
    planned_start: float | None
    planned_end: float | None
    planned_segments: tuple[RateSegment, ...] = ()
    foreseen_end: Foreseen | None = None
    """As predicted from what was known of its size and server before the run."""
    reason: str = ""
    """Why it ended, if it did not simply finish."""
    given_up: dict[str, str] = {}
    """Hosts that were given up, and why."""
    to_do: int = 0
    """URLs still to be fetched."""
    left_out: dict[str, LeftOut] = {}
    """URLs that were found but not fetched, by reason, such as "robots.txt"."""
    focus: FocusReport | None = None
    """None: breadth-first, and no topic."""
    queue: QueueTally | None = None
    """None: the site had a queue of its own."""
    robots_ignored: tuple[str, ...] = ()
    """Hosts whose robots.txt was not obeyed, as the user asked."""
    restarts: int = 0
    """How often it was continued from its journal because its worker process died."""
    unchanged: int = 0
    """Pages that are as an earlier run archived them."""

    @property
    def stopped_at_deadline(self) -> bool:
        """Stopped by its ``on_deadline``: neither met nor late."""
        return self.state == "stopped" and self.reason == AT_DEADLINE

    @property
    def at_its_bound(self) -> bool:
        """Whether it ended at a limit, usually set by the user, which counts as complete."""
        bounds = (MAX_PAGES, MAX_BYTES, MAX_TIME, OUTGROWN)
        return self.state == "stopped" and self.reason in bounds

    @property
    def settled(self) -> bool:
        """Whether a resumed run has nothing left to do for it."""
        return self.state == "done" or self.stopped_at_deadline or self.at_its_bound


class TimelinePoint(msgspec.Struct, frozen=True):
    """Wire bytes that arrived since the previous point, by site; sites without any are omitted."""

    time: float
    bytes: dict[str, int]
    left_to_others: float = 0.0
    """Bytes that the crawl could have had in that time but left to others."""


class Leg(msgspec.Struct, frozen=True):
    """The part of a run from its start, or a resumption, to the next end."""

    started_at: float
    """Seconds since 1970."""
    start: float
    """In the time of the run: the sum of the legs before it."""


class Stall(msgspec.Struct, frozen=True):
    """A time in which the machine, or Headgate on it, stood still."""

    start: float
    end: float
    seconds: float
    """Lost between ``start`` and ``end``; less than their distance where stalls came and went."""
    cause: str
    """"suspended", "starved" (others had the CPU) or "busy" (our own work had it)."""


class HostFigures(msgspec.Struct, frozen=True):
    host: str
    fetches: int
    mean_seconds: float
    mean_first_byte_seconds: float


class QuotaReport(msgspec.Struct, frozen=True):
    """The byte quota at the end of the run."""

    quota: str
    """Like "20 GB per month"."""
    bytes: float
    used: float
    """By all runs into the collection, in the period in which the run ended."""
    left: float
    resets_at: float
    """Seconds since 1970."""
    zone: str


class NodeReport(msgspec.Struct, frozen=True):
    """What a node of a grid did in this run."""

    name: str
    group: str
    tasks: int
    """Number of tasks whose results were committed."""
    pages: int
    wire_bytes: int
    share: float
    """Of all wire bytes of committed results."""
    lost: int
    """Leases that ended without a result."""
    superseded: int
    """Leases whose task another node completed first."""
    wasted_bytes: int
    """Fetched for lost and superseded leases."""


class AuditReport(msgspec.Struct, frozen=True):
    """A task that two nodes did, for comparison."""

    site: str
    first: str
    second: str
    pages: int
    """Pages that both have."""
    differing: int
    examples: tuple[str, ...] = ()
    """URLs of pages that differ."""


class GridReport(msgspec.Struct, frozen=True):
    """What the machines of a grid did."""

    nodes: tuple[NodeReport, ...]
    leases: int
    """How often a task was given to a node."""
    audits: tuple[AuditReport, ...] = ()


class RunReport(msgspec.Struct, frozen=True):
    """One run."""

    stamp: str
    started_at: float
    """Seconds since 1970."""
    seconds: float
    policy: str
    """Which policy set the rates; the plan shown is always Headgate's own."""
    budget: float | None
    """Bytes per second at the start; None: unlimited."""
    budget_changes: tuple[tuple[float, float | None], ...]
    """(time, rate from then on), the start included."""
    crawlers: int
    pages: int
    bytes: int
    wire_bytes: int
    mean_rate: float
    """Wire bytes per second up to the end of the last site."""
    peak_rate_1s: float | None
    """The highest mean over one second or longer; None: the run was shorter."""
    utilisation: float | None
    """Wire bytes against what the budget allowed while work remained; None: unlimited."""
    sites: tuple[SiteReport, ...]
    timeline: tuple[TimelinePoint, ...]
    made_way_seconds: float = 0.0
    """How long the crawl yielded to others on the line."""
    left_to_others: float = 0.0
    """Bytes that it could have fetched in that time."""
    slowest_hosts: tuple[HostFigures, ...] = ()
    interrupted: bool = False
    abandoned: bool = False
    """The user gave it up before its end."""
    under_way: bool = False
    """The run is not over yet; all fields are what is known so far."""
    legs: tuple[Leg, ...] = ()
    stalls: tuple[Stall, ...] = ()
    quota: QuotaReport | None = None
    policy_fault: str = ""
    """Why Headgate's own policy took the place of the chosen one; empty: it did not."""
    order: ScoreOrderReport | None = None
    """None: sites had rates instead of one common queue."""
    zone: str | None = None
    """The time zone of the budget's timetable; None: there is none."""
    grid: GridReport | None = None
    """None: a single machine crawled."""
    unchanged: int = 0
    """Pages that are as an earlier run archived them."""
    version: int = 1
    """Of this document's form; a new number where a field changes its meaning or goes."""

    @property
    def nothing_fetched(self) -> bool:
        return bool(self.sites) and not any(site.pages for site in self.sites)


MOST_EXAMPLES = 3


class Reason(StrEnum):
    """Why a URL is not fetched. Traps, bounds and `model.fetch.LEFT_OUT` are reasons, too, under
    their own names."""

    OTHER_HOST = "other host"
    OUT_OF_SCOPE = "out of scope"
    """By the user's include and exclude."""
    BEYOND_DEPTH = "beyond depth"
    NOFOLLOW = "nofollow"
    ROBOTS = "robots.txt"
    HOST_GIVEN_UP = "host given up"
    COPY = "links of a copy"
    """On a page whose content was found too often under other URLs."""
    HOPS = "too many redirects"
    SITEMAPS = "too many sitemaps"
    UNREADABLE = "unreadable"
    """On a page that was fetched and stored, but broke the process that reads pages."""


class LeftOut(msgspec.Struct, frozen=True):
    """What a crawl met and left out, and why: counted, with a few examples of each reason.

    URLs not fetched for one reason.
    """

    count: Tally
    examples: tuple[Text, ...] = ()
    """The first few; long URLs are cut."""


def merged(*parts: Mapping[str, LeftOut]) -> dict[str, LeftOut]:
    """The sum of all parts, by reason.

    >>> merged({"nofollow": LeftOut(2, ("a",))}, {"nofollow": LeftOut(1, ("b",))})
    {'nofollow': LeftOut(count=3, examples=('a', 'b'))}
    """
    whole: dict[str, LeftOut] = {}
    for part in parts:
        for reason, found in part.items():
            before = whole.get(reason, LeftOut(0))
            examples = dict.fromkeys((*before.examples, *found.examples))
            whole[reason] = LeftOut(before.count + found.count, tuple(examples)[:MOST_EXAMPLES])
    return whole
