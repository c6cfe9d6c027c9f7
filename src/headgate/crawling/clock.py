"""The one real clock."""

from __future__ import annotations

import time

__all__ = ["SystemClock"]

_COUNTING_SLEEP: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux has one."""


class SystemClock:
    """Seconds, as `headgate.crawling.ports.Clock` wants them. ``now`` goes on while the machine is
    suspended, where the system can tell: a deadline does not wait for a laptop to be opened."""

    def now(self) -> float:
        return time.clock_gettime(_COUNTING_SLEEP)

    def asleep(self) -> float:
        """For how long the machine was suspended until now, since it was started."""
        return self.now() - time.monotonic() if _COUNTING_SLEEP != time.CLOCK_MONOTONIC else 0.0

    def cpu(self) -> float:
        """That this process used until now."""
        return time.process_time()

    def wall(self) -> float:
        return time.time()
