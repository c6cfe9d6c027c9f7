"""Whether promised freshness can be kept: the answer to ``headgate plan --keep``."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.size_range import SizeRange
from headgate.model.units import BytesPerSecond, Seconds

__all__ = ["KeepPlan", "PromisedSite"]


@dataclass(frozen=True, slots=True)
class PromisedSite:
    """A site whose every page is to be fetched once per ``fresh_within``."""

    name: str
    fresh_within: Seconds
    size: SizeRange
    """Bytes for fetching all its pages once."""
    max_rate: BytesPerSecond | None = None
    """What its server gives or may be asked for; None: no bound."""

    @property
    def rate(self) -> float:
        """Mean bytes per second that the promise needs."""
        return self.size.likely / self.fresh_within


@dataclass(frozen=True, slots=True)
class KeepPlan:
    """Computed from the likely sizes, except ``probability``."""

    sites: tuple[PromisedSite, ...]
    """Those with a promise, in the order of the site file."""
    others: int
    """Number of sites without a promise."""
    holds: bool
    """Whether all promises can be kept together."""
    probability: float
    """That they hold: 0 or 1 where sizes are known."""
    load: float
    """What all promises need, over the mean rate that the budget allows."""
    scale: float
    """The factor on the budget (timetable and quota alike) that would just do; infinite: none."""
    lateness: Seconds
    """How late every promise is if all are equally late; infinite: it grows without bound."""
    impossible: tuple[str, ...]
    """Sites whose promise could not be kept even if there were no other."""
    give_up: tuple[str, ...]
    """Sites to drop so that the other promises hold, the most expensive first."""
    least_bandwidth: BytesPerSecond | None
    """The bandwidth that would just do; None: it is a timetable, unlimited, or a quota is what
    binds."""
