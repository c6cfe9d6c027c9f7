"""The one real clock."""

from __future__ import annotations

import time

__all__ = ["SystemClock"]


class SystemClock:
    """Seconds, as `headgate.crawling.ports.Clock` wants them."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()
