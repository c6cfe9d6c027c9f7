"""What may pass from now on: the budget by the clock on the wall, a user's word, and the quota.

The planner counts seconds from the start of the run by a clock that never jumps; a timetable goes
by the one on the wall. When the two part (a machine that slept, a clock set right), the timetable
is unrolled anew from the hour that it is now. A quota cuts the budget to what is left of it, anew
at every look, since a line that is not used fully spends it later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.model.quota import QuotaUse
from headgate.planning.capacity import Capacity
from headgate.planning.quota import within_quota

__all__ = ["Allowance"]

_JUMP_SECONDS = 1.0
"""By which the clocks may part before it counts."""
_UNLIMITED = 1e12
_AMPLE_BYTES = 2e9
"""With more left of a quota, an unlimited line stays unlimited."""
_LOOK_AHEAD_SECONDS = 5 * 7 * 86400.0
"""How far a quota's periods are reckoned ahead."""
_TAIL_SECONDS = 2.0
"""How long the bound by the last bytes of a quota is foreseen to hold."""

Unroll = Callable[[datetime], Capacity | None]
"""The budget from a moment on, without its quota; None: unlimited."""


@dataclass(slots=True)
class Allowance:
    """``capacity`` counts from the start of the run; None: unlimited."""

    unroll: Unroll
    wall: float
    """Seconds since 1970 at the start of the run."""
    use: QuotaUse | None = None
    """How the quota stood at the last look; None: there is none."""
    capacity: Capacity | None = field(init=False)
    _base: Capacity | None = field(init=False)
    _fixed: bool = False
    """The user set a rate: no timetable any more."""

    def __post_init__(self) -> None:
        self._base = self.unroll(datetime.fromtimestamp(self.wall, UTC))
        self.capacity = self._within_quota(0.0)

    def fix(self, rate: Capacity | None) -> None:
        """The user's word replaces the timetable, from the next look on."""
        self._base, self._fixed = rate, True

    def look(self, now: float, wall: float, use: QuotaUse | None) -> bool:
        """Whether ``capacity`` is another one now; ``now`` in seconds from the start of the run."""
        before = self.capacity
        self.use = use
        if not self._fixed and abs(wall - now - self.wall) > _JUMP_SECONDS:
            self.wall = wall - now
            base = self.unroll(datetime.fromtimestamp(wall, UTC))
            self._base = None if base is None else base.delayed(now)
        self.capacity = self._within_quota(now)
        return self.capacity is not before

    def _within_quota(self, now: float) -> Capacity | None:
        use, base = self.use, self._base
        if use is None or (base is None and use.left > _AMPLE_BYTES):
            return base
        pieces = [(0.0, _UNLIMITED)] if base is None else base.from_time(now).pieces
        cut = within_quota(_slow_at_the_end(pieces, use), use, _LOOK_AHEAD_SECONDS)
        return Capacity.of(cut).delayed(now)


def _slow_at_the_end(pieces: list[tuple[float, float]], use: QuotaUse) -> list[tuple[float, float]]:
    """With the rate of now bounded by the last bytes of the quota."""
    (_, rate), *later = pieces
    bound = use.rate_bound
    if bound >= rate:
        return pieces
    soon = [piece for piece in later if piece[0] <= _TAIL_SECONDS]
    after = soon[-1][1] if soon else rate
    return [(0.0, bound), (_TAIL_SECONDS, after), *later[len(soon) :]]
