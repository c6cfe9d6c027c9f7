"""Detects that the wall clock was set back, by comparison with the monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.crawling.ports import Clock

__all__ = ["WallWatch"]

_SET_BACK_SECONDS = 60.0


@dataclass(slots=True)
class WallWatch:
    clock: Clock
    _ahead: float = field(init=False)
    """How far the wall clock is ahead of the monotonic one."""

    def __post_init__(self) -> None:
        self._ahead = self.clock.wall() - self.clock.now()

    def set_back_by(self) -> float:
        """Seconds that the clock was set back since the last call; 0: it was not. Stored times may
        then be in the future, and must not be waited for."""
        before, self._ahead = self._ahead, self.clock.wall() - self.clock.now()
        seconds = before - self._ahead
        return seconds if seconds > _SET_BACK_SECONDS else 0.0
