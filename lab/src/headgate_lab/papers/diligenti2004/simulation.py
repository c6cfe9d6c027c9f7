"""A form in virtual time: a download is a wait of two round trips and then a stream.

The stream runs at the server's speed or, where shares are enforced, at the share if that is less;
and all streams together at no more than the limit, cut in proportion. No window, no slow start, no
queue: what is left is the arithmetic of control, and a minute of it takes a fraction of a second.
"""

from __future__ import annotations

import math

import numpy as np

from headgate.bandwidth.admission_control import StartDownload
from headgate_lab.bed.readings import BIN_SECONDS
from headgate_lab.papers.diligenti2004.forms import Form
from headgate_lab.papers.diligenti2004.steering import Steering
from headgate_lab.papers.diligenti2004.trace import Trace
from headgate_lab.papers.diligenti2004.world import World

__all__ = ["simulate"]

_BINS_A_BEAT = round(1.0 / BIN_SECONDS)
"""The rate is measured, and the queue looked at, once a second."""
_TRIPS_TO_FIRST_BYTE = 2.0
"""One to connect and one for the request."""


class _Stream:
    """One download. A server has one at a time, which gets its whole speed."""

    __slots__ = ("first_byte", "key", "left", "rate", "size", "started")

    def __init__(self, start: StartDownload, world: World, now: float) -> None:
        document = world.documents[int(start.download.key)]
        server = world.servers[document.server]
        self.key = start.download.key
        self.started = now
        self.first_byte = now + _TRIPS_TO_FIRST_BYTE * server.rtt_seconds
        self.rate = min(server.bytes_per_second, start.taken.share)
        self.size = self.left = float(document.bytes)


def simulate(form: Form, world: World, seconds: float) -> Trace:
    """The queue for so long, from a cold start, in steps of a bin."""
    steering = Steering(form, world)
    trace = Trace(seconds, np.zeros(round(seconds / BIN_SECONDS)))
    streams: list[_Stream] = []
    limit = form.limit if form.enforced else math.inf
    look = True
    for number in range(len(trace.received)):
        now = number * BIN_SECONDS
        if look or number % _BINS_A_BEAT == 0:
            for start in steering.starts(now):
                streams.append(_Stream(start, world, now))
                trace.starts.append((now, int(start.download.key), start.passed_over))
            trace.predicted.append((now, steering.predicted))
        trace.received[number] = _flow(streams, now, limit)
        ended = [stream for stream in streams if stream.left <= 0.0]
        streams = [stream for stream in streams if stream.left > 0.0]
        look = bool(ended)
        then = now + BIN_SECONDS
        for stream in ended:
            times = (then - stream.started, stream.first_byte - stream.started)
            steering.ended(stream.key, then, stream.size, *times)
        trace.ended += len(ended)
        if (number + 1) % _BINS_A_BEAT == 0:
            beat = trace.received[number + 1 - _BINS_A_BEAT : number + 1]
            steering.measured(float(beat.sum()))
    return trace


def _flow(streams: list[_Stream], now: float, limit: float) -> float:
    """Bytes of one bin; advances the streams."""
    flowing = [stream for stream in streams if stream.first_byte <= now]
    wanted = sum(stream.rate for stream in flowing)
    seconds = BIN_SECONDS * min(1.0, limit / wanted) if wanted else 0.0
    total = 0.0
    for stream in flowing:
        got = min(stream.rate * seconds, stream.left)
        stream.left -= got
        total += got
    return total
