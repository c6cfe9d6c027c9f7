"""SARSS's world: volunteers' machines that come and go, and recrawl tasks pushed to them.

A step is a minute. A channel is due every interval of its group; its task goes to the machine near
it, or, where that is away or five tasks wait there, to the least loaded of its neighbours. Each
works at five tasks at once; how long one takes is reckoned when it starts. A task that has waited
as long as its channel's interval is cancelled. At the end of its life a machine hands its tasks to
a neighbour (one in three) or loses them. Pages per channel are log-normal about the paper's mean;
bytes per page are not in the paper and are set so that capacity is what its tables imply."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from headgate.recrawl.groups import Counts, Groups, reassignment_due

__all__ = ["FIRST_INTERVALS", "Figures", "Strategy", "Volunteers"]

FIRST_INTERVALS = (60.0, 120.0, 240.0, 480.0, 960.0)
_CHANNELS = (543, 3954, 7150, 3816, 538)
_MEAN_PAGES, _PAGES_SPREAD = 8738.0, 1.0
_PAGE_KILOBITS = 150.0
_WAIT_SECONDS = 0.2
_THREADS, _QUEUE, _NEIGHBOURS = 5, 5, 6
_LIFE, _AWAY = (1000.0, 200.0), (600.0, 200.0)
_NOTIFY = 1 / 3


class Strategy(Protocol):
    """Gives groups new intervals: IIR, ICR."""

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups: ...


@dataclass(slots=True)
class Figures:
    submitted: list[int]
    """By group."""
    updated: list[int]
    mean_queue: float
    intervals: list[float]


@dataclass(slots=True)
class _Machine:
    here: bool = True
    life: int = 0
    running: int = 0
    queue: deque[tuple[int, int]] = field(default_factory=deque)
    """Channels, and when they came."""
    tasks: set[int] = field(default_factory=set)


class Volunteers:
    def __init__(self, machines: int, scale: int, seed: int, strategy: Strategy | None) -> None:
        """``scale`` 10 is a tenth of the channels; ``machines`` are as many as are told."""
        self._rng = rng = np.random.default_rng(seed)
        self._group = np.repeat(np.arange(5), [round(n / scale) for n in _CHANNELS])
        channels = len(self._group)
        spread = _PAGES_SPREAD
        pages = _MEAN_PAGES * np.exp(spread * rng.standard_normal(channels) - spread**2 / 2)
        latency = rng.uniform(0.01, 0.06, channels)
        bandwidth = rng.choice([512.0, 1024.0, 2048.0], machines, p=[0.3, 0.4, 0.3])
        self._page_minutes = (pages * (2 * latency + _WAIT_SECONDS) / 60).tolist()
        self._transfer = (pages * _PAGE_KILOBITS / 60).tolist()
        self._per_kilobit = (_THREADS / bandwidth).tolist()
        self._home = rng.integers(machines, size=channels).tolist()
        self._machines = [_Machine() for _ in range(machines)]
        self._groups = Groups(self._group, np.array(FIRST_INTERVALS))
        self._strategy = strategy
        self._counts = Counts.none(channels, 0.0)
        self._submitted, self._updated = np.zeros(channels), np.zeros(channels)
        self._due: dict[int, list[int]] = defaultdict(list)
        self._ends: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._turns: dict[int, list[int]] = defaultdict(list)
        for channel, interval in enumerate(self._interval_of()):
            self._due[int(rng.uniform(0, interval))].append(channel)
        for machine in range(machines):
            self._turns[self._lasting(*_LIFE)].append(machine)

    def run(self, minutes: int) -> Figures:
        waited = 0
        intervals = self._interval_of()
        for now in range(minutes):
            for machine in self._turns.pop(now, ()):
                self._turn(machine, now)
            for machine, life, channel in self._ends.pop(now, ()):
                self._end(machine, life, channel, now, intervals)
            for channel in self._due.pop(now, ()):
                self._submitted[channel] += 1
                self._counts.submitted[channel] += 1
                self._due[now + max(round(intervals[channel]), 1)].append(channel)
                self._send(channel, now)
            if now % 10 == 0:
                waited += sum(len(machine.queue) for machine in self._machines if machine.here)
                if self._strategy is not None and reassignment_due(self._groups, self._counts):
                    self._groups = self._strategy.reassigned(self._groups, self._counts, now)
                    self._counts = Counts.none(len(self._group), now)
                    intervals = self._interval_of()
        here = sum(machine.here for machine in self._machines)
        return Figures(
            np.bincount(self._group, self._submitted).astype(int).tolist(),
            np.bincount(self._group, self._updated).astype(int).tolist(),
            waited * 10 / minutes / max(here, 1),
            self._groups.intervals.tolist(),
        )

    def _interval_of(self) -> list[float]:
        return [float(interval) for interval in self._groups.intervals[self._group]]

    def _lasting(self, mean: float, spread: float) -> int:
        return max(1, round(self._rng.normal(mean, spread)))

    def _send(self, channel: int, now: int) -> None:
        home = self._home[channel]
        machine = self._machines[home]
        if not machine.here or (machine.running >= _THREADS and len(machine.queue) >= _QUEUE):
            count = len(self._machines)
            near = [(home + k) % count for k in range(1, _NEIGHBOURS + 1)]
            near = [k for k in (home, *near) if self._machines[k].here]
            if not near:
                return
            home = min(near, key=lambda k: self._machines[k].running + len(self._machines[k].queue))
            machine = self._machines[home]
        if machine.running < _THREADS:
            self._start(home, channel, now)
        else:
            machine.queue.append((channel, now))

    def _start(self, number: int, channel: int, now: int) -> None:
        machine = self._machines[number]
        machine.running += 1
        machine.tasks.add(channel)
        took = self._page_minutes[channel] + self._transfer[channel] * self._per_kilobit[number]
        self._ends[now + max(1, round(took))].append((number, machine.life, channel))

    def _end(self, number: int, life: int, channel: int, now: int, intervals: list[float]) -> None:
        machine = self._machines[number]
        if machine.life != life:
            return
        machine.running -= 1
        machine.tasks.discard(channel)
        self._updated[channel] += 1
        self._counts.updated[channel] += 1
        while machine.queue and machine.running < _THREADS:
            waiting, since = machine.queue.popleft()
            if now - since <= intervals[waiting]:
                self._start(number, waiting, now)

    def _turn(self, number: int, now: int) -> None:
        """A machine goes, or comes back."""
        machine = self._machines[number]
        machine.here = not machine.here
        if machine.here:
            self._turns[now + self._lasting(*_LIFE)].append(number)
            return
        self._turns[now + self._lasting(*_AWAY)].append(number)
        tasks = [*machine.tasks, *(channel for channel, _ in machine.queue)]
        self._machines[number] = _Machine(here=False, life=machine.life + 1)
        if self._rng.random() < _NOTIFY:
            for channel in tasks:
                self._send(channel, now)
