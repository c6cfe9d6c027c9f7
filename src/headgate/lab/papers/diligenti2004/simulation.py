"""A form in virtual time: a download is a wait of its round trip and then a steady stream.

The stream runs at the server's speed or, where shares are enforced, at the share if that is less.
No window, no slow start, no queue: what is left is the arithmetic of control, and a minute of it
takes a few milliseconds.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict

import numpy as np

from headgate.lab.bed.readings import BIN_SECONDS, Bins
from headgate.lab.papers.diligenti2004.forms import Form
from headgate.lab.papers.diligenti2004.steering import Steering
from headgate.lab.papers.diligenti2004.trace import Trace
from headgate.lab.papers.diligenti2004.world import World

__all__ = ["simulate"]

_BEAT = 1.0
"""Seconds between two measurements of the rate."""
_TRIPS_TO_FIRST_BYTE = 2.0
"""One to connect and one to ask."""


class _Stream:
    """One download's arrivals: nothing for a while, then rates that change as others come and go.

    ``pieces`` are (from, until, rate); the last goes on to the end.
    """

    __slots__ = ("_pieces", "_share", "_size", "end", "first_byte", "key", "started")

    def __init__(self, key: str, now: float, latency: float, size: float, share: float) -> None:
        self.key = key
        self.started = now
        self.first_byte = now + latency
        self.end = math.inf
        self._size = size
        self._share = share
        self._pieces: list[tuple[float, float, float]] = []

    def go_on(self, speed: float, now: float) -> None:
        """From now on the server has so much for it."""
        begin = max(now, self.first_byte)
        if self._pieces and self._pieces[-1][0] >= begin:
            self._pieces.pop()
        elif self._pieces:
            since, _, rate = self._pieces[-1]
            self._pieces[-1] = (since, begin, rate)
        rate = min(speed, self._share)
        self.end = begin + (self._size - self.arrived(0.0, begin)) / rate
        self._pieces.append((begin, self.end, rate))

    def arrived(self, begin: float, end: float) -> float:
        return sum(
            rate * max(min(end, until) - max(begin, since), 0.0)
            for since, until, rate in self._pieces
        )

    def add_to(self, total: Bins, edges: Bins) -> None:
        """What had arrived at each edge."""
        for since, until, rate in self._pieces:
            total += rate * (np.clip(edges, since, until) - since)


class _Line:
    """All streams; those of one server divide its speed equally."""

    def __init__(self, world: World) -> None:
        self.streams: list[_Stream] = []
        self._world = world
        self._running: dict[int, list[_Stream]] = defaultdict(list)
        self._ends: list[tuple[float, int, _Stream]] = []
        self._count = 0

    def next_end(self) -> float:
        """The moment of the next end of a stream; infinite when none runs."""
        while self._ends and self._ends[0][0] != self._ends[0][2].end:
            heapq.heappop(self._ends)  # it ends at another moment by now
        return self._ends[0][0] if self._ends else math.inf

    def start(self, key: str, share: float, now: float) -> None:
        document = self._world.documents[int(key)]
        latency = _TRIPS_TO_FIRST_BYTE * self._world.servers[document.server].rtt_seconds
        stream = _Stream(key, now, latency, document.bytes, share)
        self.streams.append(stream)
        self._running[document.server].append(stream)
        self._divide(document.server, now)

    def end(self) -> _Stream:
        """The next stream to end, ended."""
        now, _, stream = heapq.heappop(self._ends)
        stream.end = math.inf  # its entries of the same moment are void
        server = self._world.documents[int(stream.key)].server
        self._running[server].remove(stream)
        self._divide(server, now)
        return stream

    def _divide(self, server: int, now: float) -> None:
        running = self._running[server]
        for stream in running:
            stream.go_on(self._world.servers[server].bytes_per_second / len(running), now)
            self._count += 1
            heapq.heappush(self._ends, (stream.end, self._count, stream))


def simulate(form: Form, world: World, seconds: float) -> Trace:
    """The queue for so long, from a cold start."""
    trace = Trace(seconds)
    steering = Steering(form, world)
    line = _Line(world)
    now, beat = 0.0, _BEAT
    while now < seconds:
        for start in steering.starts(now):
            line.start(start.download.key, start.taken if form.enforced else math.inf, now)
            trace.starts.append((now, int(start.download.key), start.passed_over))
        trace.predicted.append((now, steering.predicted))
        now = min(line.next_end(), beat)
        if now == beat:
            recent = sum(stream.arrived(now - _BEAT, now) for stream in line.streams)
            steering.measured(recent / _BEAT)
            beat += _BEAT
        else:
            stream = line.end()
            size = world.documents[int(stream.key)].bytes
            times = (now - stream.started, stream.first_byte - stream.started)
            steering.ended(stream.key, now, size, *times)
            trace.ended += 1
    edges: Bins = np.linspace(0.0, seconds, round(seconds / BIN_SECONDS) + 1)
    arrived = np.zeros(len(edges))
    for stream in line.streams:
        stream.add_to(arrived, edges)
    trace.received = np.diff(arrived)
    return trace
