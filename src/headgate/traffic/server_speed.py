"""How fast a server is at which hour of which kind of day (Diligenti et al. 2004).

48 estimates per server address: 24 hours of a working day and 24 of a holiday. Hour h stands for
the moment h:00, and what was measured at minute t speaks for it with the weight

    phi(y) = k exp(-y^2 / sigma^2),   y = t - 60 h, round the clock,   k = 0.3, sigma = 120 min.

Three rules say what a measure does to a cell (docs/algorithms/server-speeds.md compares them):

* `Rule.PAPER`, the paper's own: B <- (1 - phi) B + phi M with M = bytes / seconds. It averages over
  downloads where the line sees time, so that quick long documents count too little.
* `Rule.RATIO`: bytes and seconds are kept apart, Z <- (1 - phi/3) Z + phi/3 bytes, W likewise, and
  B = Z / W. Unbiased, and quick to follow a change: for a run's own use.
* `Rule.STEADY`, the default: Z <- d Z + phi bytes, W <- d W + phi seconds. The first two forget by
  the measure, so after a hundred measures in one hour a cell holds what the hours after its own
  were like. Here the clock forgets: d = 1 - phi/3 for an hour that was watched, however often.

A measure also reaches cells far away, though with little weight, so that the first one fills all 48
and an hour never seen is thought to be like the nearest that was.

A download that we held back ourselves says only "at least so fast" (`Measure.at_least`): it can
raise an estimate, never lower one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import median

from headgate.model.local_time import DayKind, LocalMoment

__all__ = ["Measure", "Rule", "ServerSpeed", "ServerSpeeds", "weight"]

K = 0.3
SIGMA_MINUTES = 120.0

_HOURS = 24
_DAY_MINUTES = 1440.0
_SLOWER = 3.0
"""phi' = phi / 3: the ratio of two means needs more memory than the mean of ratios."""
_FAR = 1 / 600
"""Of the greatest weight: what a measure counts in hours far from its own."""
_OTHER_KIND = 1 / 100
"""Of its weight: what a measure counts on days of the other kind."""
_MOST_TIMES = 10.0
"""A measure counts as no more than so many times what is thought already: a server that sends a
buffered megabyte within a millisecond has not become a thousand times faster."""
_MOST_SECONDS = 60.0
"""A measure of longer weighs no more than one of a minute."""
_SEEN = 0.1
"""Of the weight of the best known hour."""
_TELLING = 0.1
"""How unlike each other measures must be, of what they can be at the most, to tell what a request
costs from what its bytes do."""
_LEAST_SECONDS = 1e-6
"""Shorter is no time at all."""
_MEDIAN_EVERY = 64
"""Measures between two looks at all servers."""
_LAYOUT = "f"


@dataclass(frozen=True, slots=True)
class Measure:
    """One download, or several of one address put together.

    ``seconds`` is time in which the address was busy for us: where several downloads overlap, the
    time counts once, since they share what the server gives.
    """

    bytes: float
    seconds: float
    requests: int = 1
    first_byte_seconds: float = 0.0
    """Of all requests together."""
    at_least: bool = False
    """Our own limit set the pace: the server may be faster."""


class Rule(StrEnum):
    PAPER = "paper"
    RATIO = "ratio"
    STEADY = "steady"


def weight(minutes: float) -> float:
    """phi(y): what a measure counts for a moment so many minutes away, round the clock.

    >>> [round(weight(y), 4) for y in (0, 60, 120, 180, 240, 1440 - 60)]
    [0.3, 0.2336, 0.1104, 0.0316, 0.0055, 0.2336]
    """
    away = (minutes + _DAY_MINUTES / 2) % _DAY_MINUTES - _DAY_MINUTES / 2
    return K * math.exp(-((away / SIGMA_MINUTES) ** 2))


@lru_cache(maxsize=16)  # many measures fall in one minute
def _weights(minute: int) -> tuple[float, ...]:
    """phi for each of the 24 hours."""
    return tuple(weight(minute - 60.0 * hour) for hour in range(_HOURS))


@lru_cache(maxsize=16)
def _steady_weights(minute: int, kind: DayKind) -> tuple[float, ...]:
    """What a measure counts in each of the 48 cells."""
    own = [max(phi, K * _FAR) for phi in _weights(minute)]
    other = [counts * _OTHER_KIND for counts in own]
    return (*own, *other) if kind is DayKind.HOLIDAY else (*other, *own)


class ServerSpeed:
    """One address. 0.8 KB of estimates in memory, 0.4 KB stored.

    >>> server = ServerSpeed()
    >>> noon, night = (LocalMoment(60.0 * hour, DayKind.WORKING) for hour in (12, 0))
    >>> server.learn(Measure(500_000, 10.0), noon)
    >>> server.rate(noon), server.rate(night)
    (50000.0, 50000.0)
    """

    __slots__ = ("_bytes", "_moments", "_seconds", "first_byte", "latest", "measures", "requests")

    def __init__(self) -> None:
        self._bytes = array("d", bytes(8 * 2 * _HOURS))
        """Z of cell ``24 * kind + hour``; always beside W, `_seconds`."""
        self._seconds = array("d", bytes(8 * 2 * _HOURS))
        self._moments = [0.0] * 5
        """Sums of n n, n b, b b, n s, b s over measures of n requests, b bytes, s seconds."""
        self.requests = 0.0
        self.first_byte = 0.0
        """Seconds to the first byte, over ``requests``; older ones fade."""
        self.measures = 0
        """Those in which the server set the pace."""
        self.latest = 0.0
        """The instant of the last measure."""

    @property
    def known(self) -> bool:
        return self._seconds[0] > 0

    @property
    def bounded(self) -> bool:
        """Whether the server was ever seen at its limit; otherwise rates are lower bounds."""
        return self.measures > 0

    @property
    def latency_seconds(self) -> float:
        """Mean time from a request to the first byte of its response."""
        return self.first_byte / self.requests if self.requests else 0.0

    @property
    def request_seconds(self) -> float:
        """What a request costs beside its bytes: a in seconds = a requests + bytes / speed, by
        least squares; the latency where requests were too much alike to tell."""
        nn, nb, bb, ns, bs = self._moments
        determinant = nn * bb - nb * nb
        if determinant <= _TELLING * nn * bb:
            return min(self.latency_seconds, ns / nn) if nn else self.latency_seconds
        return min(max((ns * bb - bs * nb) / determinant, 0.0), ns / nn)

    def rate(self, moment: LocalMoment) -> float | None:
        """Bytes per second at a moment, between the hours around it; None: never measured."""
        if not self.known:
            return None
        hour, after = divmod(moment.minute / 60.0, 1.0)
        first = int(hour) % _HOURS
        row = _HOURS * moment.kind
        near, next_ = self._cell(row + first), self._cell(row + (first + 1) % _HOURS)
        return near + after * (next_ - near)

    def seen(self, moment: LocalMoment) -> bool:
        """Whether something was measured near that hour of such a day, so that the estimate is more
        than the mean of other hours."""
        if not self.known:
            return False
        nearest = _HOURS * moment.kind + round(moment.minute / 60.0) % _HOURS
        return self._seconds[nearest] >= _SEEN * max(self._seconds)

    def hourly(self, kind: DayKind) -> tuple[float, ...]:
        """The 24 estimates of a kind of day; empty: never measured."""
        row = _HOURS * kind
        return tuple(map(self._cell, range(row, row + _HOURS))) if self.known else ()

    def learn(self, measure: Measure, moment: LocalMoment, rule: Rule = Rule.STEADY) -> None:
        """Take in a measure made at a moment."""
        hours = min(max(moment.instant - self.latest, 0.0) / 3600.0, 1.0) if self.known else 0.0
        self.latest = max(self.latest, moment.instant)
        self._learn_requests(measure)
        if measure.seconds < _LEAST_SECONDS or measure.bytes < 1:
            return
        if not self._speaks(measure, moment):
            return
        if not self.known or (not self.bounded and not measure.at_least):
            self._fill(measure, moment, rule)
        elif rule is Rule.PAPER:
            self._learn_paper(measure, moment)
        elif rule is Rule.RATIO:
            self._learn_ratio(measure, moment)
        else:
            self._learn_steady(measure, moment, hours)
        self.measures += not measure.at_least

    def encode(self) -> bytes:
        """As stored: the cells, then the sums of latency and cost."""
        tail = (*self._moments, self.requests, self.first_byte)
        return array(_LAYOUT, [*self._bytes, *self._seconds, *tail]).tobytes()

    @classmethod
    def decode(cls, stored: bytes, measures: int, latest: float) -> ServerSpeed:
        """Raises ValueError for what `encode` did not write."""
        values: array[float] = array(_LAYOUT)
        values.frombytes(stored)
        cells = 2 * _HOURS
        if len(values) != 2 * cells + 7:
            raise ValueError("not the estimates of a server")
        speed = cls()
        speed._bytes = array("d", values[:cells])
        speed._seconds = array("d", values[cells : 2 * cells])
        *speed._moments, speed.requests, speed.first_byte = values[2 * cells :]
        speed.measures, speed.latest = measures, latest
        if not speed._sound:
            raise ValueError("not the estimates of a server")
        return speed

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        assert self._sound

    @property
    def _sound(self) -> bool:
        cells = [*self._bytes, *self._seconds, *self._moments, self.requests, self.first_byte]
        return (
            all(0 <= value < math.inf for value in (*cells, self.measures, self.latest))
            and all(seconds > 0 for seconds in self._seconds) == self.known
            and (self.known or not self.measures)
        )

    def _cell(self, cell: int) -> float:
        return self._bytes[cell] / self._seconds[cell]

    def _speaks(self, measure: Measure, moment: LocalMoment) -> bool:
        """Whether it says anything: "at least this" is no news where more is known."""
        thought = self.rate(moment)
        return not measure.at_least or thought is None or measure.bytes / measure.seconds > thought

    def _learn_requests(self, measure: Measure) -> None:
        keep = 1.0 - K / _SLOWER
        self.requests = keep * self.requests + measure.requests
        self.first_byte = keep * self.first_byte + measure.first_byte_seconds
        if measure.at_least:
            return
        n, b, s = measure.requests, measure.bytes, min(measure.seconds, _MOST_SECONDS)
        for index, product in enumerate((n * n, n * b, b * b, n * s, b * s)):
            self._moments[index] = keep * self._moments[index] + product

    def _fill(self, measure: Measure, moment: LocalMoment, rule: Rule) -> None:
        """The first measure speaks for every hour of every day."""
        rate = measure.bytes / measure.seconds
        seconds = 1.0 if rule is Rule.PAPER else min(measure.seconds, _MOST_SECONDS)
        counted = _steady_weights(int(moment.minute), moment.kind)
        for cell in range(2 * _HOURS):
            counts = counted[cell] if rule is Rule.STEADY else 1.0
            self._bytes[cell], self._seconds[cell] = counts * seconds * rate, counts * seconds

    def _learn_paper(self, measure: Measure, moment: LocalMoment) -> None:
        rate = measure.bytes / measure.seconds
        for cell, phi in enumerate(_weights(int(moment.minute)), _HOURS * moment.kind):
            self._bytes[cell] += phi * (rate - self._bytes[cell])

    def _learn_ratio(self, measure: Measure, moment: LocalMoment) -> None:
        for cell, paper_phi in enumerate(_weights(int(moment.minute)), _HOURS * moment.kind):
            phi = paper_phi / _SLOWER
            bytes_, seconds = self._bytes[cell], self._seconds[cell]
            # Neither sum may jump, so no single measure doubles or halves the estimate by much.
            most = _MOST_TIMES * bytes_ * min(measure.seconds / seconds, 1.0)
            self._bytes[cell] += phi * (min(measure.bytes, most) - bytes_)
            self._seconds[cell] += phi * (min(measure.seconds, _MOST_TIMES * seconds) - seconds)

    def _learn_steady(self, measure: Measure, moment: LocalMoment, hours: float) -> None:
        thought = self.rate(moment) or 0.0
        seconds = min(measure.seconds, _MOST_SECONDS)
        rate = min(measure.bytes / measure.seconds, _MOST_TIMES * thought)
        for cell, counts in enumerate(_steady_weights(int(moment.minute), moment.kind)):
            keep = 1.0 - hours * counts / _SLOWER
            self._bytes[cell] = keep * self._bytes[cell] + counts * seconds * rate
            self._seconds[cell] = keep * self._seconds[cell] + counts * seconds


class ServerSpeeds:
    """All servers of a run, by address."""

    def __init__(
        self,
        *,
        rule: Rule = Rule.STEADY,
        find: Callable[[str], ServerSpeed | None] = lambda _: None,
    ) -> None:
        """``find`` is asked once for each address: what earlier runs know of it."""
        self.by_address: dict[str, ServerSpeed] = {}
        self.rule = rule
        self._find = find
        self._median: float | None = None
        self._until_median = 0

    def learn(self, address: str, measure: Measure, moment: LocalMoment) -> None:
        self.speed(address).learn(measure, moment, self.rule)
        self._until_median -= 1

    def speed(self, address: str) -> ServerSpeed:
        """What is known of an address; nothing at first."""
        speed = self.by_address.get(address)
        if speed is None:
            speed = self.by_address[address] = self._find(address) or ServerSpeed()
        return speed

    def rate(self, address: str, moment: LocalMoment, sharing: int = 1) -> float | None:
        """What one of ``sharing`` downloads under way from an address will get; of an address never
        measured, what the median server gives. None: no server was ever measured."""
        rate = self.speed(address).rate(moment)
        if rate is None:
            rate = self._median_rate(moment)
        return None if rate is None else rate / max(sharing, 1)

    def _median_rate(self, moment: LocalMoment) -> float | None:
        """It costs a look at every server, so it is taken anew only now and then."""
        if self._until_median <= 0 or self._median is None:
            rates = [speed.rate(moment) for speed in self.by_address.values()]
            self._median = median(known) if (known := [r for r in rates if r]) else None
            self._until_median = _MEDIAN_EVERY
        return self._median
