"""What was promised and what was kept: the report of one run, as report.json holds it.

Times are seconds from the start of the run unless a name says otherwise; sizes are bytes on the
line where they speak of rates, and rates bytes per second. A run that was interrupted and resumed
is one run of several legs; its time is that of all legs, without the pauses between them.
"""

from __future__ import annotations

import msgspec

from headgate.model.left_out import LeftOut
from headgate.model.plan import Foreseen, RateSegment
from headgate.model.score_order import QueueTally, ScoreOrderReport

__all__ = [
    "AT_DEADLINE",
    "ENDS_AS_TOLD",
    "ENOUGH_NEW",
    "MAX_BYTES",
    "MAX_PAGES",
    "MAX_TIME",
    "AuditReport",
    "FocusReport",
    "GridReport",
    "HostFigures",
    "Leg",
    "NodeReport",
    "QuotaReport",
    "RunReport",
    "SiteReport",
    "Stall",
    "TimelinePoint",
]

AT_DEADLINE = "deadline"
"""The reason of a site that was stopped at its deadline."""
MAX_PAGES, MAX_BYTES, MAX_TIME = "max_pages", "max_bytes", "max_time"
"""The reasons of sites that came to the end that the user had set."""
ENOUGH_NEW = "enough_new"
"""A keeper's visit has taken as many new pages as it may."""
ENDS_AS_TOLD = (AT_DEADLINE, MAX_PAGES, MAX_BYTES, MAX_TIME, ENOUGH_NEW)
"""After any other stop a site is gone on with."""


class FocusReport(msgspec.Struct, frozen=True):
    """How the order of a site's URLs served its focus."""

    order: str
    focus: str = ""
    """The words; empty when files gave the topic, or there is none."""
    pages: int = 0
    """Pages of text, as far as they were judged."""
    relevant: int = 0
    curve: tuple[tuple[int, int], ...] = ()
    """(pages, relevant ones among them), in the order of fetching; empty without a topic."""
    faults: int = 0
    """Links that the user's own scorer could not score."""
    trouble: str = ""
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
    """By failure kind, or by status such as "404"."""
    started: float | None
    finished: float | None
    deadline: float | None
    met: bool | None
    """Whether it came to its end by then, with pages and no host given up; None without a
    deadline, or while it is open."""
    planned_start: float | None
    planned_end: float | None
    planned_segments: tuple[RateSegment, ...] = ()
    foreseen_end: Foreseen | None = None
    """By what was known of its size and its server before the run."""
    reason: str = ""
    """Why it ended, when it did not simply finish."""
    given_up: dict[str, str] = {}
    """Hosts, and why nothing more was asked of them."""
    to_do: int = 0
    """URLs left when it ended, or until now."""
    left_out: dict[str, LeftOut] = {}
    """URLs that were met and left out, by reason, such as "robots.txt"."""
    focus: FocusReport | None = None
    """None: breadth-first, and no topic."""
    queue: QueueTally | None = None
    """None: it had a queue of its own."""
    robots_ignored: tuple[str, ...] = ()
    """Hosts whose robots.txt was not obeyed, as the user said."""
    restarts: int = 0
    """It went on from what was stored, because the process that crawled it died."""
    unchanged: int = 0
    """Pages that are as an earlier run archived them."""

    @property
    def stopped_at_deadline(self) -> bool:
        """As its ``on_deadline`` wanted: neither met nor late."""
        return self.state == "stopped" and self.reason == AT_DEADLINE

    @property
    def at_its_bound(self) -> bool:
        """It came to an end that the user had set beforehand, as good as having none left."""
        return self.state == "stopped" and self.reason in (MAX_PAGES, MAX_BYTES, MAX_TIME)

    @property
    def settled(self) -> bool:
        """Whether a resumed run has nothing more to do for it."""
        return self.state == "done" or self.stopped_at_deadline or self.at_its_bound


class TimelinePoint(msgspec.Struct, frozen=True):
    """Wire bytes that arrived since the point before, by site; sites without any are left out."""

    time: float
    bytes: dict[str, int]
    left_to_others: float = 0.0
    """Bytes that the crawl could have had in that time and did not take, making way."""


class Leg(msgspec.Struct, frozen=True):
    """From a start of the crawl, or a resumption, to the next end."""

    started_at: float
    """Seconds since 1970."""
    start: float
    """In the time of the run: what the legs before it took."""


class Stall(msgspec.Struct, frozen=True):
    """The machine, or Headgate on it, stood still."""

    start: float
    end: float
    seconds: float
    """Lost between them; less where it came and went."""
    cause: str
    """"suspended", "starved" (others had the CPU) or "busy" (our own work had it)."""


class HostFigures(msgspec.Struct, frozen=True):
    host: str
    fetches: int
    mean_seconds: float
    mean_first_byte_seconds: float


class QuotaReport(msgspec.Struct, frozen=True):
    """How a byte quota stood at the end of the run."""

    quota: str
    """Like "20 GB per month"."""
    bytes: float
    used: float
    """In the period of the run's end, by all runs into the collection."""
    left: float
    resets_at: float
    """Seconds since 1970."""
    zone: str


class NodeReport(msgspec.Struct, frozen=True):
    """A node of a grid, in this run."""

    name: str
    group: str
    tasks: int
    """Whose results are in the archive."""
    pages: int
    wire_bytes: int
    share: float
    """Of all bytes that count."""
    lost: int
    """Leases of its that ended without a result."""
    superseded: int
    """Leases of its whose task another brought first."""
    wasted_bytes: int
    """That it fetched for both."""


class AuditReport(msgspec.Struct, frozen=True):
    """A task that two nodes did."""

    site: str
    first: str
    second: str
    pages: int
    """Both have."""
    differing: int
    examples: tuple[str, ...] = ()
    """URLs of pages that differ."""


class GridReport(msgspec.Struct, frozen=True):
    """Of a run that many machines crawled."""

    nodes: tuple[NodeReport, ...]
    leases: int
    """Times that a task was given to a node."""
    audits: tuple[AuditReport, ...] = ()


class RunReport(msgspec.Struct, frozen=True):
    """One run."""

    stamp: str
    started_at: float
    """Seconds since 1970."""
    seconds: float
    policy: str
    """Who set the rates; what was planned is Headgate's own plan, whoever set them."""
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
    """The highest mean over a second or longer; None: the run was shorter than that."""
    utilisation: float | None
    """Wire bytes against what the budget allowed while work remained; None: unlimited."""
    sites: tuple[SiteReport, ...]
    timeline: tuple[TimelinePoint, ...]
    made_way_seconds: float = 0.0
    """For how long the crawl stepped back for others on the line."""
    left_to_others: float = 0.0
    """Bytes that it could have had in that time."""
    slowest_hosts: tuple[HostFigures, ...] = ()
    interrupted: bool = False
    abandoned: bool = False
    """Given up by the user before its end."""
    under_way: bool = False
    """Not over yet: what follows is what is known so far."""
    legs: tuple[Leg, ...] = ()
    stalls: tuple[Stall, ...] = ()
    quota: QuotaReport | None = None
    policy_fault: str = ""
    """Why the policy that was chosen could not be followed, and Headgate's own took its place;
    empty: it could."""
    order: ScoreOrderReport | None = None
    """None: sites had rates, and no queue in common."""
    zone: str | None = None
    """By whose hours the budget's timetable went; None: it has none."""
    grid: GridReport | None = None
    """None: one machine crawled."""
    unchanged: int = 0
    """Pages that are as an earlier run archived them."""
    version: int = 1
    """Of this document's form; a new number where a field changes its meaning or goes."""

    @property
    def nothing_fetched(self) -> bool:
        return bool(self.sites) and not any(site.pages for site in self.sites)
