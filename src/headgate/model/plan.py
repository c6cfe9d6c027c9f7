"""A plan: for each site, when it is crawled and at which rate, and how good that is.

Times are seconds from the start of the run, sizes bytes, rates bytes per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headgate.model.budget import Budget
from headgate.model.timetable import RatePiece

__all__ = [
    "LATE_AFTER_SECONDS",
    "Foreseen",
    "Plan",
    "PlannedSite",
    "RateSegment",
    "Remedy",
    "Verdict",
]

LATE_AFTER_SECONDS = 1e-6
"""A site that ends this much after its deadline or earlier is on time: rounding is no lateness."""


class Verdict(StrEnum):
    """What is known about meeting all deadlines under this budget."""

    FEASIBLE = "feasible"
    """This plan meets them."""
    INFEASIBLE = "infeasible"
    """No plan can: proven."""
    OPEN = "open"
    """This plan does not, and nothing proves that none could."""


@dataclass(frozen=True, slots=True)
class RateSegment:
    """A site is crawled at ``rate`` from ``start`` to ``end``."""

    start: float
    end: float
    rate: float


@dataclass(frozen=True, slots=True)
class Foreseen:
    """When a site will end, by what is known of its size and its server's speed by the hour."""

    earliest: float
    likely: float
    latest: float

    @property
    def vague(self) -> bool:
        """Whether the likely time alone would say more than is known."""
        return self.latest > 1.25 * self.earliest


@dataclass(frozen=True, slots=True)
class PlannedSite:
    """One site's part of the plan. Segments are in order and do not overlap."""

    name: str
    bytes: float
    deadline: float | None
    start: float
    end: float
    segments: tuple[RateSegment, ...]
    foreseen: Foreseen | None = None
    """None: nothing is known but what the plan was given."""

    @property
    def late(self) -> float:
        """Seconds after the deadline; 0 when on time or without one."""
        if self.deadline is None or self.end - self.deadline <= LATE_AFTER_SECONDS:
            return 0.0
        return self.end - self.deadline

    @property
    def slack(self) -> float | None:
        """Seconds to spare; None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - self.end)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would make all deadlines hold."""

    needed_bandwidth: float | None
    """The least constant rate at which meeting all deadlines is not provably impossible; with as
    many crawlers as sites it is enough, too. None: caps forbid it at any rate."""
    enough_bandwidth: float | None
    """The least constant rate at which a plan that meets them all was found."""
    scale: float | None
    """The same for a timetable: all its rates times this; ``needed_bandwidth`` is then its mean."""
    relax: dict[str, float]
    """Or: give these sites so many seconds more, and this very plan meets all deadlines."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What `headgate plan` answers."""

    policy: str
    budget: Budget
    budget_pieces: tuple[RatePiece, ...]
    """The budget's rates from the start of the run on; one piece when it never changes."""
    verdict: Verdict
    sites: tuple[PlannedSite, ...]
    order: tuple[str, ...]
    """The sites by priority: who starts first, and among those who start together who may have
    his rate first. A crawl that serves them in this order goes as planned."""
    remedy: Remedy
    tardiness_bound: float
    """Total lateness that no plan can go below, proven."""
    makespan_bound: float
    total_time_bound: float

    @property
    def feasible(self) -> bool:
        return self.verdict is Verdict.FEASIBLE

    @property
    def makespan(self) -> float:
        return max((site.end for site in self.sites), default=0.0)

    @property
    def foreseen(self) -> Foreseen | None:
        """The end of the last site; None: of some site nothing is foreseen."""
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
    def late_sites(self) -> tuple[str, ...]:
        return tuple(site.name for site in self.sites if site.late)
