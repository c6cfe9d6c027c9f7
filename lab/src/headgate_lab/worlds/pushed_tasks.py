"""Recrawl tasks pushed to volunteers' machines, as SARSS does it.

A channel is due every interval of its group; its task goes to the machine near it, or, where that
is away or five tasks wait there, to the least loaded of its neighbours. Each works at five tasks at
once; how long one takes is reckoned when it starts. A task that has waited as long as its channel's
interval is cancelled. At the end of its life a machine hands its tasks to a neighbour (one in
three) or loses them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.priority_groups import Counts, Groups, reassignment_due
from headgate_lab.worlds.volunteer_figures import Figures, Tally
from headgate_lab.worlds.volunteers import FIRST_INTERVALS, THREADS, Volunteers

__all__ = ["PushedTasks", "Strategy"]

_QUEUE, _NEIGHBOURS = 5, 6
_AWAY = 1_000_000
_LOOK_EVERY = 10
"""Minutes between looks whether intervals are to be reassigned."""


class Strategy(Protocol):
    """Gives groups new intervals: IIR, ICR."""

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups: ...


class PushedTasks:
    """Of one run; ``load`` of a machine is what runs and waits there, or more than any can have."""

    def __init__(
        self, world: Volunteers, minutes: int, seed: int, strategy: Strategy | None
    ) -> None:
        """No strategy: FIXED."""
        self._world, self._minutes, self._strategy = world, minutes, strategy
        machines, channels = len(world.bandwidth), len(world.group)
        self._waiting, self._kilobits = world.waiting.tolist(), world.kilobits.tolist()
        self._per_kilobit = world.per_kilobit.tolist()
        self._near = [
            tuple((home + k) % machines for k in range(_NEIGHBOURS + 1)) for home in range(machines)
        ]
        self._home = world.home.tolist()
        self._load = [0] * machines
        self._life = [0] * machines
        self._queues: list[deque[tuple[int, int]]] = [deque() for _ in range(machines)]
        """Channels, and when they came."""
        self._running: list[set[int]] = [set() for _ in range(machines)]
        self._queued, self._here = 0, machines
        self._groups = Groups(world.group, FIRST_INTERVALS)
        self._fastest = int((world.group == 0).sum())
        """Channels; they are the first."""
        self._counted = [0] * channels, [0] * channels, 0.0
        """Tasks of each channel, and those that ended, when intervals were last reassigned."""
        self._submitted, self._updated = [0] * channels, [0] * channels
        self._tally = Tally(world, minutes, self._submitted, self._updated)
        self._due: list[list[int]] = [[] for _ in range(minutes)]
        self._ends: list[list[tuple[int, int, int, int]]] = [[] for _ in range(minutes)]
        self._intervals: list[int] = []
        self._set_intervals()
        first = np.random.default_rng((seed, 2)).random(channels) * FIRST_INTERVALS[world.group]
        for channel, moment in enumerate(first.astype(int).tolist()):
            if moment < minutes:
                self._due[moment].append(channel)

    def run(self) -> Figures:
        due, submitted = self._due, self._submitted
        for now in range(self._minutes):
            for machine, tells in self._world.turns[now]:
                self._turn(machine, now, tells=tells)
            self._end(self._ends[now], now)
            self._ends[now] = []
            intervals = self._intervals
            for channel in due[now]:
                submitted[channel] += 1
                following = now + intervals[channel]
                if following < self._minutes:
                    due[following].append(channel)
            self._send(due[now], now)
            due[now] = []
            self._tally.minute(now, self._queued, self._here)
            if now % _LOOK_EVERY == 0 and self._strategy is not None:
                self._reassign(self._strategy, now)
        return self._tally.figures()

    def _reassign(self, strategy: Strategy, now: int) -> None:
        fastest = Groups(self._groups.members[: self._fastest], self._groups.intervals)
        if not reassignment_due(fastest, self._counts(self._fastest)):
            return
        self._groups = strategy.reassigned(self._groups, self._counts(), float(now))
        self._counted = [*self._submitted], [*self._updated], float(now)
        self._set_intervals()

    def _counts(self, channels: int | None = None) -> Counts:
        """Since the last reassignment, of all channels or so many of the first."""
        submitted, updated, since = self._counted
        return Counts(
            _grown(self._submitted[:channels], submitted[:channels]),
            _grown(self._updated[:channels], updated[:channels]),
            since,
        )

    def _set_intervals(self) -> None:
        rounded = np.maximum(np.rint(self._groups.intervals), 1).astype(int)
        self._intervals = rounded[self._world.group].tolist()

    def _send(self, channels: Iterable[int], now: int) -> None:
        load, home, near, queues = self._load, self._home, self._near, self._queues
        load_of = load.__getitem__
        for channel in channels:
            machine = home[channel]
            there = load[machine]
            if there >= THREADS + _QUEUE:
                machine = min(near[machine], key=load_of)
                there = load[machine]
                if there >= _AWAY:
                    continue
            load[machine] = there + 1
            if there < THREADS:
                self._start(machine, channel, now)
            else:
                queues[machine].append((channel, now))
                self._queued += 1

    def _start(self, machine: int, channel: int, now: int) -> None:
        self._running[machine].add(channel)
        took = self._waiting[channel] + self._kilobits[channel] * self._per_kilobit[machine]
        end = now + (round(took) or 1)
        if end < self._minutes:
            self._ends[end].append((machine, self._life[machine], channel, now))

    def _end(self, tasks: Iterable[tuple[int, int, int, int]], now: int) -> None:
        lives, load, running, queues = self._life, self._load, self._running, self._queues
        intervals, updated = self._intervals, self._updated
        ended, begins = [], []
        for machine, life, channel, begun in tasks:
            if lives[machine] != life:
                continue
            load[machine] -= 1
            running[machine].discard(channel)
            updated[channel] += 1
            ended.append(channel)
            begins.append(begun)
            queue = queues[machine]
            while queue:
                waiting, since = queue.popleft()
                self._queued -= 1
                if now - since <= intervals[waiting]:
                    self._start(machine, waiting, now)
                    break
                load[machine] -= 1
        self._tally.came(ended, begins, now)

    def _turn(self, machine: int, now: int, *, tells: bool) -> None:
        """A machine goes, or comes back."""
        if self._load[machine] >= _AWAY:
            self._load[machine] = 0
            self._here += 1
            return
        queue = self._queues[machine]
        tasks = [*self._running[machine], *(channel for channel, _ in queue)]
        self._queued -= len(queue)
        self._here -= 1
        self._life[machine] += 1
        self._load[machine] = _AWAY
        self._running[machine] = set()
        queue.clear()
        if tells:
            self._send(tasks, now)


def _grown(now: list[int], before: list[int]) -> FloatArray:
    return as_floats(np.array(now) - before)
