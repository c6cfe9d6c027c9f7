"""Claims tasks for a node's free slots, one after another, while there is room and nothing failed.

A fault of this machine, such as a full disk, is no reason to end: the node rests, and claims again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.crawling.ports import Clock
from headgate.crawling.task_messages import Idle
from headgate.crawling.task_source import Refused
from headgate.jobs.lending.claiming import Claiming
from headgate.jobs.lending.owner_bounds import OwnerBounds
from headgate.jobs.lending.rests import Rests
from headgate.jobs.lending.waking import Waking
from headgate.model.errors import HeadgateError
from headgate.model.units import format_duration, format_size

__all__ = ["ClaimingAll"]

_FULL_LOOKS = 5
"""Looks between two questions whether there is room again."""
_LONGEST_IDLE_SECONDS = 60.0
_PER_REFUSAL_SECONDS = 1e-3


@dataclass(slots=True)
class ClaimingAll:
    claiming: Claiming
    bounds: OwnerBounds
    clock: Clock
    waking: Waking
    tell: Callable[[str], None]
    may_claim: Callable[[], bool]
    """Whether the node wants tasks at all."""
    taken: Callable[[], None]
    """Called when there was a task."""
    slots: int
    look_seconds: float
    until_idle: bool
    """Whether to end when no task is left for any node."""
    _rests: Rests = field(default_factory=Rests)
    _full: bool = False
    """There is no space for another task, and the owner was told."""

    async def run(self) -> None:
        ended = False
        while not ended:
            if not self._may_claim():
                await self.waking.pause(self.look_seconds)
                continue
            try:
                ended = await self._claim()
                self._rests.all_well()
            except Refused:
                raise
            except (HeadgateError, OSError) as fault:
                wait = self._rests.begin(self.clock.now())
                self.tell(f"{fault}; the next task is claimed in {format_duration(wait)}")

    def _may_claim(self) -> bool:
        busy = len(self.bounds.holdings.unfinished) >= self.slots
        return self.may_claim() and not busy and not self._rests.lasts(self.clock.now())

    async def _claim(self) -> bool:
        """Claim a task, or wait until there may be one; True: there will be none."""
        room = await asyncio.to_thread(self.bounds.room)
        if not self.bounds.has_room(room):
            if not self._full:
                self.tell(f"nothing is claimed while only {format_size(room)} of disk is left")
            self._full = True
            await self.waking.pause(_FULL_LOOKS * self.look_seconds)
            return False
        self._full = False
        if not self._may_claim():  # no longer
            return False
        idle = await self.claiming.claim(self.slots, room, self.bounds.leg.own_rate())
        if idle is None:
            self.taken()
            await asyncio.sleep(self._patience_seconds)
            return False
        return await self._wait(idle)

    @property
    def _patience_seconds(self) -> float:
        """Longer with each task in a row that the owner's rules forbid. The manager excludes the
        last thousand only, so a node could claim and return others without end."""
        refused = self.claiming.refused_in_a_row
        return min(refused * _PER_REFUSAL_SECONDS, _LONGEST_IDLE_SECONDS)

    async def _wait(self, idle: Idle) -> bool:
        works = self.bounds.holdings.works.values()
        if self.until_idle and not idle.left and all(work.of_another_run for work in works):
            return True
        await self.waking.pause(min(idle.wait, _LONGEST_IDLE_SECONDS))
        return False
