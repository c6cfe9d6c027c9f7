"""Wakes loops that otherwise check after a while."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

__all__ = ["Waking"]


@dataclass(frozen=True, slots=True)
class Waking:
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._changed.set()

    async def pause(self, seconds: float) -> None:
        """Wait this long, or until `wake` is called."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()
