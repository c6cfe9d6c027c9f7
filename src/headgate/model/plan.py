"""A plan: for each site, when it is crawled and at which rate, and how good that is.

Times are seconds from the start of the run, sizes bytes, rates bytes per second.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headgate.model.budget import Budget
from headgate.model.timetable import RatePiece

__all__ = [
    "LATE_AFTER_SECONDS",
    "Foreseen",
    "Guess",
    "Plan",
    "PlannedSite",
    "RateSegment",
    "Remedy",
    "Verdict",
]

LATE_AFTER_SECONDS = 1e-6
"""Tolerance for rounding: a site that ends no later than this after its deadline is on time."""


class Verdict(StrEnum):
    """What is known about meeting all deadlines under this budget."""

    FEASIBLE = "feasible"
    """This plan meets them."""
    INFEASIBLE = "infeasible"
    """No plan can: proven."""
    OPEN = "open"
    """This plan does not, and nothing proves that none could."""


class RateSegment(msgspec.Struct, frozen=True):
    """A site is crawled at ``rate`` from ``start`` to ``end``."""

    start: float
    end: float
    rate: float


class Foreseen(msgspec.Struct, frozen=True):
    """When a site will end, by what is known of its size and its server's speed by the hour."""

    earliest: float
    likely: float
    latest: float

    @property
    def vague(self) -> bool:
        """Whether the likely time alone would say more than is known."""
        return self.latest > 1.25 * self.earliest


class Guess(msgspec.Struct, frozen=True):
    """Which of a site's numbers are estimates."""

    size_by: str = ""
    """How its size was estimated; empty: the user gave it."""
    bytes_range: tuple[float, float] | None = None
    """The likely range of the size; None: it is certain."""
    server_speed: bool = False
    """Whether its ``max_rate`` was estimated from its server's speed, not given by the user."""


class PlannedSite(msgspec.Struct, frozen=True):
    """One site's part of the plan. Segments are in order and do not overlap."""

    name: str
    bytes: float
    deadline: float | None
    start: float
    end: float
    segments: tuple[RateSegment, ...]
    foreseen: Foreseen | None = None
    """None: nothing is known but what the plan was given."""
    left_bytes: float = 0.0
    """What is not fetched when the site is stopped at its deadline; 0: it is crawled to its end."""
    max_rate: float | None = None
    """The most it can take; None: no bound but the budget."""
    guess: Guess | None = None
    """None: the user gave its numbers."""

    @property
    def late(self) -> float:
        """Seconds after the deadline; 0 when on time, stopped, or without one."""
        if (
            self.deadline is None
            or self.left_bytes
            or self.end - self.deadline <= LATE_AFTER_SECONDS
        ):
            return 0.0
        return self.end - self.deadline

    @property
    def slack(self) -> float | None:
        """Seconds to spare; None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - self.end)


class Remedy(msgspec.Struct, frozen=True):
    """What would make all deadlines hold."""

    needed_bandwidth: float | None
    """The least constant rate at which meeting all deadlines is not provably impossible; with as
    many crawlers as sites it is enough, too. None: caps forbid it at any rate."""
    enough_bandwidth: float | None
    """The least constant rate at which a plan that meets them all was found."""
    scale: float | None
    """The same for a timetable: all its rates times this; ``needed_bandwidth`` is then its mean."""
    relax: dict[str, float]
    """Or: give these sites so many seconds more, and this very plan meets all deadlines; where it
    stops sites with something left, a plan that stops none."""


class Plan(msgspec.Struct, frozen=True):
    """What `headgate plan` answers."""

    policy: str
    budget: Budget
    budget_pieces: tuple[RatePiece, ...]
    """The budget's rates from the start of the run on; one piece when it never changes."""
    verdict: Verdict
    sites: tuple[PlannedSite, ...]
    order: tuple[str, ...]
    """The sites by priority: which starts first, and of those that start together, which is served
    first. A crawl that follows this order goes as planned."""
    remedy: Remedy
    shortfall_bound: float
    """A proven lower bound on the shortfall of any plan."""
    makespan_bound: float
    total_time_bound: float
    """Both for plans that fetch as much of each site as this one."""
    closer_bound_with: str = ""
    """What to install for a ``shortfall_bound`` that may be tighter; empty: nothing."""
    left_seconds: float = 0.0
    """The time that the whole line would need for all ``left_bytes``."""
    at_best: Verdict | None = None
    """If every size is at the bottom of its range and every server as fast as it may be."""
    at_worst: Verdict | None = None
    """The other way round. None, both: nothing is guessed, or it was not asked."""

    @property
    def feasible(self) -> bool:
        return self.verdict is Verdict.FEASIBLE

    @property
    def guessed(self) -> bool:
        """Whether the verdict rests on estimates."""
        return any(site.guess for site in self.sites)

    @property
    def makespan(self) -> float:
        return max((site.end for site in self.sites), default=0.0)

    @property
    def foreseen(self) -> Foreseen | None:
        """The end of the last site; None: that of some site is unknown."""
        ends = [site.foreseen for site in self.sites]
        known = [end for end in ends if end is not None]
        if not known or len(known) < len(ends):
            return None
        return Foreseen(
            max(end.earliest for end in known),
            max(end.likely for end in known),
            max(end.latest for end in known),
        )

    @property
    def total_time(self) -> float:
        """Sum over sites of the time from start to end."""
        return sum(site.end - site.start for site in self.sites)

    @property
    def tardiness(self) -> float:
        """Sum over sites of the seconds after their deadlines."""
        return sum(site.late for site in self.sites)

    @property
    def shortfall(self) -> float:
        """What is minimised first: total lateness, plus the time for what is left undone."""
        return self.tardiness + self.left_seconds

    @property
    def left_bytes(self) -> float:
        return sum(site.left_bytes for site in self.sites)

    @property
    def late_sites(self) -> tuple[str, ...]:
        return tuple(site.name for site in self.sites if site.late)

    @property
    def stopped_sites(self) -> tuple[str, ...]:
        """Those that are stopped at their deadlines with something left."""
        return tuple(site.name for site in self.sites if site.left_bytes)
