"""When the machine itself stood still: noticed by a beat that comes late, and named by its cause.

Somebody beats at even intervals and says what the clocks show. A beat that comes late by more than
a bound tells of a stall since the one before:

suspended  the machine slept: the clock that counts sleep went on, the one that does not stood still
busy       the process used a CPU meanwhile: its own work kept it from everything else
starved    it did not: others had the CPU, or the process was stopped

Pure: clocks are read elsewhere (`grid/heartbeat.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from headgate.model.run_report import Stall

__all__ = ["BEAT_SECONDS", "Clocks", "StallWatch"]

BEAT_SECONDS = 0.25
_LEAST_SECONDS = 0.25
"""Beats are late by less on any busy machine."""
_OWN_WORK = 0.5
_MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class Clocks:
    """What they show at one moment, in seconds."""

    now: float
    """Of the run; goes on while the machine sleeps."""
    asleep: float
    """Until now, since any moment."""
    cpu: float
    """That the process used until now."""


class StallWatch:
    """Of one leg."""

    def __init__(self, clocks: Clocks) -> None:
        self.stalls: list[Stall] = []
        """In order of time. Stalls of one cause close upon each other are one."""
        self._last = clocks

    def beat(self, clocks: Clocks) -> None:
        """Called a beat after the last one, or later when there was a stall."""
        last, self._last = self._last, clocks
        asleep = clocks.asleep - last.asleep
        awake = clocks.now - last.now - asleep
        late = awake - BEAT_SECONDS
        if asleep >= _LEAST_SECONDS:
            self._note(Stall(last.now, clocks.now, asleep, "suspended"))
        if late >= _LEAST_SECONDS:
            own = clocks.cpu - last.cpu >= _OWN_WORK * awake
            self._note(Stall(last.now, clocks.now, late, "busy" if own else "starved"))

    def _note(self, stall: Stall) -> None:
        before = self.stalls[-1] if self.stalls else None
        if before and before.cause == stall.cause and stall.start - before.end < 2 * BEAT_SECONDS:
            self.stalls[-1] = _joined(before, stall)
            return
        self.stalls.append(stall)
        if len(self.stalls) > _MOST_KEPT:
            self._join_nearest()

    def _join_nearest(self) -> None:
        """Two of one cause become one, so that no second is lost from the sums."""
        gaps = []
        latest: dict[str, int] = {}
        for place, stall in enumerate(self.stalls):
            if stall.cause in latest:
                before = latest[stall.cause]
                gaps.append((stall.start - self.stalls[before].end, before, place))
            latest[stall.cause] = place
        _, first, second = min(gaps)
        self.stalls[first] = _joined(self.stalls[first], self.stalls.pop(second))


def _joined(first: Stall, second: Stall) -> Stall:
    return msgspec.structs.replace(first, end=second.end, seconds=first.seconds + second.seconds)
