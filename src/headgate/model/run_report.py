"""What was promised and what was kept: the report of one run, as report.json holds it.

Times are seconds from the start of the run unless a name says otherwise; sizes are bytes on the
line where they speak of rates, and rates bytes per second.
"""

from __future__ import annotations

import msgspec

from headgate.model.plan import Foreseen, RateSegment

__all__ = ["FocusReport", "HostFigures", "QuotaReport", "RunReport", "SiteReport", "TimelinePoint"]


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
    """None without a deadline, or while it is open."""
    planned_start: float | None
    planned_end: float | None
    planned_segments: tuple[RateSegment, ...] = ()
    foreseen_end: Foreseen | None = None
    """By what was known of its size and its server before the run."""
    reason: str = ""
    """Why it ended, when it did not simply finish."""
    given_up: dict[str, str] = {}
    """Hosts, and why nothing more was asked of them."""
    focus: FocusReport | None = None
    """None: breadth-first, and no topic."""


class TimelinePoint(msgspec.Struct, frozen=True):
    """Wire bytes that arrived since the point before, by site; sites without any are left out."""

    time: float
    bytes: dict[str, int]
    left_to_others: float = 0.0
    """Bytes that the crawl could have had in that time and did not take, making way."""


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


class RunReport(msgspec.Struct, frozen=True):
    """One run."""

    stamp: str
    started_at: float
    """Seconds since 1970."""
    seconds: float
    policy: str
    budget: float | None
    """Bytes per second at the start; None: unlimited."""
    budget_changes: tuple[tuple[float, float | None], ...]
    """(time, rate from then on), the start included."""
    crawlers: int
    pages: int
    bytes: int
    wire_bytes: int
    mean_rate: float
    """Wire bytes per second from the first byte to the last."""
    peak_rate_1s: float
    """In the worst whole second of the timeline."""
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
    quota: QuotaReport | None = None
    zone: str | None = None
    """By whose hours the budget's timetable went; None: it has none."""
