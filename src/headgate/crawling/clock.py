"""The one real clock."""

from __future__ import annotations

import time

__all__ = ["SystemClock"]

_COUNTING_SLEEP: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that counts suspension; Linux has one."""


class SystemClock:
    """A `headgate.crawling.ports.MachineClock`. ``now`` goes on while the machine is suspended, if
    the system supports that: deadlines do not wait for a laptop to be opened."""

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
