"""The one real clock, and the time of a run: seconds of crawling, over all its legs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from msgspec import structs

from headgate.crawling.ports import MachineClock
from headgate.engine.stall_detection import Clocks
from headgate.model.site import Site
from headgate.model.units import Seconds

__all__ = ["AwakeClock", "RunTime", "SystemClock", "time_left"]

_COUNTING_SLEEP: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that counts suspension; Linux has one."""


class SystemClock:
    """The one real clock.

    A `headgate.crawling.ports.MachineClock`. ``now`` goes on while the machine is suspended, if
    the system supports that: deadlines do not wait for a laptop to be opened.
    """

    def now(self) -> float:
        return time.clock_gettime(_COUNTING_SLEEP)

    def asleep(self) -> float:
        """How long the machine was suspended since it was booted."""
        return self.now() - time.monotonic() if _COUNTING_SLEEP != time.CLOCK_MONOTONIC else 0.0

    def cpu(self) -> float:
        """CPU time that this process has used."""
        return time.process_time()

    def wall(self) -> float:
        return time.time()


class AwakeClock:
    """The same without the time that the machine was suspended, for what passes on the line.

    A `headgate.crawling.ports.Clock`. Timers of the event loop go by this time, too: after a night
    no response is late, no server was slow, and no credit has come together.
    """

    now = staticmethod(time.monotonic)
    wall = staticmethod(time.time)


_NO_TIME_SECONDS = 0.001
"""What is left of a ``max_time`` that is used up."""


@dataclass(slots=True)
class RunTime:
    """The time of a run: seconds of crawling since its first start, over all its legs.

    Deadlines are in this time. Pauses between legs do not count; suspension of the machine does.

    Created when a leg begins.
    """

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
    def leg_now(self) -> float:
        """Seconds since this leg began."""
        return self.clock.now() - self._began

    @property
    def start(self) -> float:
        """The clock's time at which the run would have started without interruptions."""
        return self._began - self.earlier

    def clocks(self) -> Clocks:
        return Clocks(self.now, self.clock.asleep() - self._asleep, self.clock.cpu())

    def awake(self, seconds: float) -> float:
        """Without the time that the machine was suspended, which is not the server's fault."""
        return seconds - (self.clock.asleep() - self._asleep)


def time_left(site: Site, elapsed: float, started: float | None) -> Site:
    """The site with what is left of its deadline after ``elapsed`` seconds of the run, and of its
    ``max_time`` since it ``started``."""
    site = site.as_of(elapsed)
    if site.max_time is not None and started is not None:
        left = max(site.max_time - (elapsed - started), _NO_TIME_SECONDS)
        site = structs.replace(site, max_time=Seconds(left))
    return site
