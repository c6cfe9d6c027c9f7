"""The loop that performs the manager's decisions. It decides nothing itself.

A decision may take some hundredths of a second when deadlines are in danger, and the event loop,
and with it the line, would stand still for as long, twice a second. So decisions may be made
``beside`` the loop, in a thread: one after the other, and nobody else touches the manager. Requests
that come in the meantime wait for the next round.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import msgspec

from headgate.control.forecast import Forecast
from headgate.control.manager import LOOK_SECONDS, Command, DropSite, Manager, StartTask
from headgate.crawling.ports import Clock, Fleet, SetRates, SetTotal, StopSite
from headgate.crawling.progress import Progress, TaskState
from headgate.model.task import Task
from headgate.scheduling.capacity import Capacity

__all__ = ["Beside", "ControlLoop", "Observe"]

_SELDOM = 2.0
"""Factor on the time between two looks during a pause, which may last for hours."""

Decision = Callable[[], list[Command]]
Beside = Callable[[Decision], Awaitable[list[Command]]]
"""Where decisions are made."""

Observe = Callable[[float, Sequence[Progress], Mapping[str, float]], None]
"""Called with the seconds since the start, the progress of sites that run (and once of each that
ended), and the rates of those that run."""


async def _here(decision: Decision) -> list[Command]:
    return decision()


class ControlLoop(msgspec.Struct):
    """One crawl from its first site to its last, or an endless sequence of tasks."""

    manager: Manager
    fleet: Fleet
    clock: Clock
    observe: Observe
    look_seconds: float = LOOK_SECONDS
    beside: Beside = _here
    endless: bool = False
    """It continues without any site until it is interrupted."""
    interrupted: str = ""
    """Why the crawl was interrupted; empty: it was not."""
    begun: dict[str, float] = msgspec.field(default_factory=dict)
    """Start times of tasks, by the clock; a task is forgotten once its end was observed."""
    _began: float = 0.0
    _ended: list[Progress] = msgspec.field(default_factory=list)
    """Tasks that ended since the last look, including those dropped before they began."""
    _wishes: deque[Decision] = msgspec.field(default_factory=deque)
    _next_look: float = 0.0
    _waiting: asyncio.Timeout | None = None

    async def run(self) -> None:
        self._began = self.clock.now()
        turn = self.manager.next_turn(0.0)
        self._perform(self.manager.begin(0.0))
        await self._wait(0.0)  # the first connections open while their rates are computed
        while (self.endless or not self.manager.done) and not self.interrupted:
            if self.now >= turn:
                await self._decide(lambda: self.manager.decide(self.now))
            if self.now >= min(self._next_look, turn):
                self._next_look = math.inf  # unless one is requested meanwhile
                await self._look()
                pausing = self.manager.pausing(self.now)
                after = self.look_seconds * (_SELDOM if pausing else 1.0)
                self._next_look = min(self._next_look, self.now + after)
            while self._wishes:
                await self._decide(self._wishes.popleft())
            turn = self.manager.next_turn(self.now)
            until = min(self._next_look, turn, self.now + self.look_seconds)
            await self._wait(until - self.now)
        # Also after an interrupt: a fleet that is closed has reported everything.
        await self.fleet.close(self.interrupted or "finished")
        self._ended += await self.fleet.wait(0.0)
        self._tell()

    @property
    def now(self) -> float:
        return self.clock.now() - self._began

    def interrupt(self, reason: str) -> None:
        """End the crawl in order; it can be resumed."""
        self.interrupted = reason

    def end_when_done(self) -> None:
        """No further task arrives."""
        self.endless = False

    def observe_now(self) -> None:
        """Look at once: something happened that need not wait."""
        self._next_look = -math.inf
        if self._waiting is not None:
            self._waiting.reschedule(-math.inf)
            self._waiting = None

    def arrive(self, task: Task, known: Forecast) -> None:
        """Add a task of a site that has none, or whose last one was observed to end."""
        self._wishes.append(lambda: self.manager.arrive(task, known, self.now))

    def set_budget(self, capacity: Capacity | None) -> None:
        self._wishes.append(lambda: self.manager.set_budget(capacity, self.now))

    def follow(self, order: Sequence[str]) -> None:
        """Serve sites in the order of a new plan."""
        self._wishes.append(lambda: self.manager.follow(order, self.now))

    def set_line(self, rate: float, *, held_back: bool) -> None:
        """What the line has for us, and whether we are held below it at the moment."""
        self._wishes.append(lambda: self.manager.set_line(rate, self.now, held_back=held_back))

    async def _wait(self, seconds: float) -> None:
        """Wait until a site ends or a look is requested, at most for so long."""
        ended: Sequence[Progress] = ()
        waiting = asyncio.timeout(None)
        try:
            async with waiting:
                self._waiting = waiting
                ended = await self.fleet.wait(seconds)
        except TimeoutError:
            if not waiting.expired():  # a time-out of something else, a disk perhaps
                raise
        finally:
            self._waiting = None
        for progress in ended:
            self._ended.append(progress)
            await self._decide(partial(self._told_of_end, progress))
            self._next_look = min(self._next_look, self.now + LOOK_SECONDS)

    async def _look(self) -> None:
        if not self.manager.pausing(self.now):  # else it learns nothing
            self.manager.observe(self.fleet.progress(), self.now)
        await self._decide(lambda: self.manager.decide(self.now))
        self._tell()

    def _tell(self) -> None:
        running = self.fleet.progress()
        ended, self._ended = self._ended, []
        # A task may have ended without the fleet having reported it: observed with its end.
        going_on = [progress for progress in running if progress.ended is None]
        self.observe(self.now, [*going_on, *ended], dict(self.manager.rates))
        for progress in ended:
            del self.begun[progress.site]

    def _told_of_end(self, progress: Progress) -> list[Command]:
        done = progress.state is TaskState.DONE and progress.pages > 0
        whole = float(progress.arrived_bytes) if done else None
        return self.manager.ended(progress.site, self.now, whole)

    async def _decide(self, decision: Decision) -> None:
        self._perform(await self.beside(decision))

    def _perform(self, commands: Sequence[Command]) -> None:
        for command in commands:
            match command:
                case StartTask(task=task):
                    assert task.name not in self.begun, f"{task.name} was not seen to end"
                    self.begun[task.name] = self.clock.now()
                    self.fleet.start(task)
                case SetRates(rates=rates):
                    self.fleet.set_rates(rates)
                case SetTotal(rate=rate):
                    self.fleet.set_total(rate)
                case StopSite(site=site, reason=reason):
                    self.fleet.stop(site, reason)
                case DropSite(site=site, reason=reason):
                    self.begun[site] = self.clock.now()
                    dropped = Progress(site, TaskState.STOPPED, ended=0.0, reason=reason)
                    self._ended.append(dropped)
