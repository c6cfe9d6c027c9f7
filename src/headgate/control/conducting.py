"""The loop that performs the manager's decisions: waits, asks, tells. It decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headgate.control.manager import Command, Manager, SetRates, SetTotal, StopSite
from headgate.crawling.ports import Clock, Fleet
from headgate.crawling.progress import Progress
from headgate.planning.capacity import Capacity

__all__ = ["Conducting", "Observe"]

LOOK_SECONDS = 1.0
"""Between two looks at how sites fare."""

Observe = Callable[[float, Sequence[Progress], Mapping[str, float]], None]
"""(seconds since the start, progress of all sites started, rates of those that run)."""


@dataclass(slots=True)
class Conducting:
    """One crawl, from its first site to its last."""

    manager: Manager
    fleet: Fleet
    clock: Clock
    observe: Observe
    look_seconds: float = LOOK_SECONDS
    interrupted: str = ""
    """Why the crawl was broken off; empty: it was not."""
    _began: float = 0.0

    async def run(self) -> None:
        self._began = self.clock.now()
        next_look, turn = 0.0, self.manager.next_turn(0.0)
        self._perform(self.manager.begin(0.0))
        while not self.manager.done and not self.interrupted:
            if self.now >= turn:
                self._perform(self.manager.begin(self.now))
            if self.now >= next_look:
                self._look()
                next_look = self.now + self.look_seconds
            turn = self.manager.next_turn(self.now)
            for progress in await self.fleet.wait(min(next_look, turn) - self.now):
                self._perform(self.manager.ended(progress.site, self.now))
        if self.interrupted:
            await self.fleet.close(self.interrupted)
        self._look()

    @property
    def now(self) -> float:
        return self.clock.now() - self._began

    def interrupt(self, reason: str) -> None:
        """Break off: state is saved, and the crawl can go on later."""
        self.interrupted = reason

    def set_budget(self, capacity: Capacity | None) -> None:
        self._perform(self.manager.set_budget(capacity, self.now))

    def set_line(self, rate: float, *, held_back: bool) -> None:
        """What the line has for us now, and whether it has less still at this moment."""
        self._perform(self.manager.set_line(rate, self.now, held_back=held_back))

    def _look(self) -> None:
        reports = self.fleet.progress()
        if not self.interrupted:
            self._perform(self.manager.progressed(reports, self.now))
        self.observe(self.now, reports, self.manager.rates)

    def _perform(self, commands: Sequence[Command]) -> None:
        for command in commands:
            match command:
                case SetRates(rates=rates):
                    self.fleet.set_rates(rates)
                case SetTotal(rate=rate):
                    self.fleet.set_total(rate)
                case StopSite(site=site, reason=reason):
                    self.fleet.stop(site, reason)
