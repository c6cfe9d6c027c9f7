"""The time of a run: seconds of crawling since its first start, over all its legs.

Deadlines count in it. Pauses between legs are left out; the sleep of a machine is not.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from headgate.control.stall_watch import Clocks
from headgate.crawling.ports import MachineClock
from headgate.model.site import Site
from headgate.model.units import Seconds

__all__ = ["RunTime", "time_left"]

_AT_LEAST_SECONDS = 0.001
"""A deadline that has passed is one that passes now."""


@dataclass(slots=True)
class RunTime:
    """Made when a leg begins."""

    clock: MachineClock
    earlier: float
    """Seconds that earlier legs took."""
    _began: float = field(init=False)
    _asleep: float = field(init=False)

    def __post_init__(self) -> None:
        self._began, self._asleep = self.clock.now(), self.clock.asleep()

    @property
    def now(self) -> float:
        return self.earlier + self.clock.now() - self._began

    @property
    def start(self) -> float:
        """Of the run by its clock, had it never been interrupted."""
        return self._began - self.earlier

    def clocks(self) -> Clocks:
        return Clocks(self.now, self.clock.asleep() - self._asleep, self.clock.cpu())

    def awake(self, seconds: float) -> float:
        """Less the time that the machine slept: no server is slow for that."""
        return seconds - (self.clock.asleep() - self._asleep)


def time_left(site: Site, elapsed: float, started: float | None) -> Site:
    """The site with what is left of its deadline after so many seconds of the run, and of its own
    time since it ``started``."""
    if site.deadline is not None and elapsed:
        left = max(site.deadline - elapsed, _AT_LEAST_SECONDS)
        site = dataclasses.replace(site, deadline=Seconds(left))
    if site.max_time is not None and started is not None:
        left = max(site.max_time - (elapsed - started), _AT_LEAST_SECONDS)
        site = dataclasses.replace(site, max_time=Seconds(left))
    return site
