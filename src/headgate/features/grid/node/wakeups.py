"""When a node tries again: rests after faults of its machine, and what ends a wait early."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from headgate.frontier.retries import Backoff

__all__ = ["Wakeups", "machine_backoff"]


@dataclass(frozen=True, slots=True)
class Wakeups:
    """Wakes loops that otherwise check after a while."""

    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._changed.set()

    async def pause(self, seconds: float) -> None:
        """Wait this long, or until `wake` is called."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()


_FIRST_SECONDS, _LONGEST_SECONDS = 10.0, 3600.0


def machine_backoff() -> Backoff:
    """How long a node rests after faults of its machine."""
    return Backoff(_FIRST_SECONDS, _LONGEST_SECONDS)
