"""A clock on the wall that is set back, beside one that never jumps."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.crawling.ports import Clock

__all__ = ["WallWatch"]

_SET_BACK_SECONDS = 60.0


@dataclass(slots=True)
class WallWatch:
    clock: Clock
    _ahead: float = field(init=False)
    """Of the wall's clock, before the other."""

    def __post_init__(self) -> None:
        self._ahead = self.clock.wall() - self.clock.now()

    def was_set_back(self) -> bool:
        """Since this was asked last: it leaves moments in the future that nobody should wait
        for."""
        before, self._ahead = self._ahead, self.clock.wall() - self.clock.now()
        return self._ahead < before - _SET_BACK_SECONDS
