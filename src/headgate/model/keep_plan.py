"""Whether promised freshness can be kept: the answer to ``headgate plan --keep``."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.size_range import SizeRange
from headgate.model.units import BytesPerSecond, Seconds

__all__ = ["KeepPlan", "PromisedSite"]


@dataclass(frozen=True, slots=True)
class PromisedSite:
    """A site whose every page is to be looked at once in ``fresh_within``."""

    name: str
    fresh_within: Seconds
    size: SizeRange
    """Bytes of one look at all its pages."""
    max_rate: BytesPerSecond | None = None
    """What its server gives or may be asked for; None: no bound."""

    @property
    def rate(self) -> float:
        """Bytes per second that the promise takes, on average."""
        return self.size.likely / self.fresh_within


@dataclass(frozen=True, slots=True)
class KeepPlan:
    """With sizes as they are most likely, except ``probability``."""

    sites: tuple[PromisedSite, ...]
    """With a promise, as the file has them."""
    others: int
    """Sites without one."""
    holds: bool
    """All promises together."""
    probability: float
    """That they hold: 0 or 1 where sizes are known."""
    load: float
    """Of what may pass on average."""
    scale: float
    """Times the budget, timetable and quota alike, that would just do; infinite: none would."""
    lateness: Seconds
    """By which every promise is late if all are late alike; infinite: it grows for ever."""
    impossible: tuple[str, ...]
    """Sites whose promise cannot be kept even if there was no other."""
    give_up: tuple[str, ...]
    """Sites without whose promise the others hold: those that take most first."""
    least_bandwidth: BytesPerSecond | None
    """That would just do; None: the bandwidth is a timetable, or unlimited."""
