"""The speed of servers: by hour and kind of day, the cost of a request, the hour it is there."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import median

import msgspec

from headgate.model.timetable import Calendar, DayKind, LocalMoment

__all__ = ["KnownServer", "Measure", "Rule", "ServerSpeed", "ServerSpeeds", "weight"]

_LEAST_SECONDS = 1e-6
"""Shorter times are set to this."""
_MEDIAN_EVERY, _MEDIAN_MINUTES = 64, 15
"""Measures, and minutes of the day, between two looks at all servers."""
_LAYOUT = "f"


class Measure(msgspec.Struct, frozen=True):
    """One download, or several of one address put together.

    ``seconds`` is time in which the address was busy for us: where several downloads overlap, the
    time counts once, since they share what the server gives.
    """

    bytes: float
    seconds: float
    requests: int = 1
    first_byte_seconds: float = 0.0
    """Sum over all requests."""
    at_least: bool = False
    """Our own limit was reached: the server may be faster."""


class Rule(StrEnum):
    PAPER = "paper"
    RATIO = "ratio"
    STEADY = "steady"


class ServerSpeed:
    """How fast a server is at which hour of which kind of day (Diligenti et al. 2004).

    48 estimates per server address (`HourlyCells`): 24 hours of a working day and 24 of a holiday.
    A measure speaks for an hour with the weight phi, the less the further away it was made.

    Three rules say what a measure does to a cell (docs/algorithms/server-speeds.md compares them):

    * `Rule.PAPER`, the paper's own: B <- (1 - phi) B + phi M with M = bytes / seconds. It averages
    over
      downloads where the line sees time, so that quick long documents count too little.
    * `Rule.RATIO`: bytes and seconds are kept apart, Z <- (1 - phi/3) Z + phi/3 bytes, W likewise,
    and
      B = Z / W. Unbiased, and quick to follow a change: for a run's own use.
    * `Rule.STEADY`, the default: Z <- d Z + phi bytes, W <- d W + phi seconds. The first two forget
    by
      the measure, so after a hundred measures in one hour a cell holds what the hours after its own
      were like. Here the clock forgets: d = 1 - phi/3 for an hour that was watched, however often.

    A measure also reaches cells far away, though with little weight, so that the first one fills
    all 48 and an hour never seen is estimated like the nearest that was.

    A download that we held back ourselves is a lower bound (`Measure.at_least`): it can raise an
    estimate, never lower one.

    One address. 0.8 KB of estimates in memory, 0.4 KB stored.

    >>> server = ServerSpeed()
    >>> noon, night = (LocalMoment(60.0 * hour, DayKind.WORKING) for hour in (12, 0))
    >>> server.learn(Measure(500_000, 10.0), noon)
    >>> server.rate(noon), server.rate(night)
    (50000.0, 50000.0)
    """

    __slots__ = ("_cells", "_cost", "latest", "measures")

    def __init__(self) -> None:
        self._cells = HourlyCells()
        self._cost = RequestCost()
        self.measures = 0
        """Number of measures limited by the server."""
        self.latest = 0.0
        """The instant of the last measure."""

    @property
    def known(self) -> bool:
        return self._cells.known

    @property
    def bounded(self) -> bool:
        """Whether the server was ever seen at its limit; otherwise rates are lower bounds."""
        return self.measures > 0

    @property
    def latency_seconds(self) -> float:
        """Mean time from a request to the first byte of its response."""
        return self._cost.latency_seconds

    @property
    def request_seconds(self) -> float:
        """What a request costs beside its bytes."""
        return self._cost.seconds

    def rate(self, moment: LocalMoment) -> float | None:
        """Bytes per second at a moment, between the hours around it; None: never measured."""
        return self._cells.rate(moment) if self.known else None

    def seen(self, moment: LocalMoment) -> bool:
        """Whether something was measured near that hour of such a day, so that the estimate is more
        than the mean of other hours."""
        return self.known and self._cells.seen(moment)

    def hourly(self, kind: DayKind) -> tuple[float, ...]:
        """The 24 estimates of a kind of day; empty: never measured."""
        return self._cells.hourly(kind) if self.known else ()

    def learn(self, measure: Measure, moment: LocalMoment, rule: Rule = Rule.STEADY) -> None:
        """Take in a measure made at a moment."""
        hours = min(max(moment.instant - self.latest, 0.0) / 3600.0, 1.0) if self.known else 0.0
        self.latest = max(self.latest, moment.instant)
        self._cost.answered(measure.requests, measure.first_byte_seconds)
        if not measure.at_least:
            seconds = min(measure.seconds, MOST_SECONDS)
            self._cost.took(measure.requests, measure.bytes, seconds)
        if measure.seconds < _LEAST_SECONDS or measure.bytes < 1:
            return
        if not self._speaks(measure, moment):
            return
        if not self.known or (not self.bounded and not measure.at_least):
            self._fill(measure, moment, rule)
        elif rule is Rule.PAPER:
            self._cells.learn_by_paper(measure.bytes / measure.seconds, moment)
        elif rule is Rule.RATIO:
            self._cells.learn_by_ratio(measure.bytes, measure.seconds, moment)
        else:
            self._cells.learn_steadily(measure.bytes, measure.seconds, moment, hours)
        self.measures += not measure.at_least

    def encode(self) -> bytes:
        """As stored: the cells, then the sums of latency and cost."""
        return array(_LAYOUT, [*self._cells.values, *self._cost.sums]).tobytes()

    @classmethod
    def known_for(cls, rule: Rule, known: ServerSpeed) -> ServerSpeed:
        """What earlier runs learned, for a run with another rule: for rules that forget by the
        measure, an estimate counts as one measure."""
        if rule is Rule.STEADY or not known.known:
            return known
        speed = cls()
        speed._cells = known._cells.of_a_second
        speed.measures, speed.latest = known.measures, known.latest
        return speed

    @classmethod
    def decode(cls, stored: bytes, measures: int, latest: float) -> ServerSpeed:
        """Raises ValueError for what `encode` did not write."""
        values: array[float] = array(_LAYOUT)
        values.frombytes(stored)
        speed = cls()
        if len(values) != len(speed._cells.values) + len(speed._cost.sums):
            raise ValueError("not the estimates of a server")
        speed._cells = HourlyCells(values[: 2 * CELLS])
        speed._cost = RequestCost(values[2 * CELLS :])
        speed.measures, speed.latest = measures, latest
        if not speed.sound:
            raise ValueError("not the estimates of a server")
        return speed

    @property
    def sound(self) -> bool:
        """Whether the values are possible."""
        amounts = (*self._cost.sums, self.measures, self.latest)
        return (
            self._cells.sound
            and all(0 <= amount < math.inf for amount in amounts)
            and (self.known or not self.measures)
        )

    def _speaks(self, measure: Measure, moment: LocalMoment) -> bool:
        """Whether it is informative: a lower bound is not, if the estimate is higher."""
        thought = self.rate(moment)
        return not measure.at_least or thought is None or measure.bytes / measure.seconds > thought

    def _fill(self, measure: Measure, moment: LocalMoment, rule: Rule) -> None:
        """The first measure speaks for every hour of every day."""
        rate, seconds = measure.bytes / measure.seconds, min(measure.seconds, MOST_SECONDS)
        if rule is Rule.STEADY:
            self._cells.fill_steadily(rate, seconds, moment)
        else:
            self._cells.fill(rate, 1.0 if rule is Rule.PAPER else seconds)


class ServerSpeeds:
    """All servers of a run, by address."""

    def __init__(
        self,
        *,
        rule: Rule = Rule.STEADY,
        find: Callable[[str], ServerSpeed | None] = lambda _: None,
    ) -> None:
        """``find`` is called once for each address: returns what earlier runs know of it."""
        self.by_address: dict[str, ServerSpeed] = {}
        self.rule = rule
        self._find = find
        self._median: float | None = None
        self._median_of: tuple[DayKind, int] | None = None
        """The kind of day, and the quarter of an hour of it."""
        self._until_median = 0

    def learn(self, address: str, measure: Measure, moment: LocalMoment) -> None:
        self.speed(address).learn(measure, moment, self.rule)
        self._until_median -= 1

    def speed(self, address: str) -> ServerSpeed:
        """What is known of an address; nothing at first."""
        speed = self.by_address.get(address)
        if speed is None:
            found = self._find(address) or ServerSpeed()
            speed = self.by_address[address] = ServerSpeed.known_for(self.rule, found)
        return speed

    def rate(self, address: str, moment: LocalMoment, sharing: int = 1) -> float | None:
        """What one of ``sharing`` downloads under way from an address will get; of an address never
        measured, what the median server gives. None: no server was ever measured."""
        rate = self.speed(address).rate(moment)
        if rate is None:
            rate = self._median_rate(moment)
        return None if rate is None else rate / max(sharing, 1)

    def _median_rate(self, moment: LocalMoment) -> float | None:
        """Looks at every server, so it is updated only at intervals, of measures and of time."""
        quarter = moment.kind, int(moment.minute) // _MEDIAN_MINUTES
        if self._until_median <= 0 or self._median is None or quarter != self._median_of:
            rates = [speed.rate(moment) for speed in self.by_address.values()]
            self._median = median(known) if (known := [r for r in rates if r]) else None
            self._until_median, self._median_of = _MEDIAN_EVERY, quarter
        return self._median


K = 0.3
SIGMA_MINUTES = 120.0

_HOURS = 24
CELLS = 2 * _HOURS
_DAY_MINUTES = 1440.0
_SLOWER = 3.0
"""phi' = phi / 3: the ratio of two means needs more memory than the mean of ratios."""
_FAR = 1 / 600
"""Weight of a measure in hours far from its own, as a part of the greatest."""
_OTHER_KIND = 1 / 100
"""Weight of a measure on days of the other kind, as a part of its own."""
_MOST_TIMES = 10.0
"""A measure counts as at most so many times the estimate: a server that sends a buffered megabyte
within a millisecond has not become a thousand times faster."""
MOST_SECONDS = 60.0
"""A longer measure weighs no more than one of a minute."""
_SEEN = 0.1
"""Of the weight of the best known hour."""


def weight(minutes: float) -> float:
    """phi(y): weight of a measure so many minutes away, around the clock.

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


class HourlyCells:
    """The estimates of a server, one for each hour of a working day and of a holiday.

    A cell holds bytes Z and seconds W; its rate is Z / W. Hour h stands for the moment h:00, and
    what was measured at minute t speaks for it with the weight

        phi(y) = k exp(-y^2 / sigma^2),   y = t - 60 h, round the clock,   k = 0.3, sigma = 120 min.

    The three rules by which cells learn are described in `ServerSpeed`, which also says whether a
    measure is taken in at all.

    All cells are known, or none is. 0.8 KB in memory.
    """

    __slots__ = ("_bytes", "_seconds")

    def __init__(self, values: Sequence[float] = (0.0,) * (2 * CELLS)) -> None:
        """``values`` as `values` gives them."""
        self._bytes = array("d", values[:CELLS])
        """Z of cell ``24 * kind + hour``; always beside W, `_seconds`."""
        self._seconds = array("d", values[CELLS:])

    @property
    def values(self) -> tuple[float, ...]:
        return (*self._bytes, *self._seconds)

    @property
    def of_a_second(self) -> HourlyCells:
        """The same rates, each as if a measure of one second had made it."""
        return HourlyCells((*map(self._cell, range(CELLS)), *[1.0] * CELLS))

    @property
    def known(self) -> bool:
        return self._seconds[0] > 0

    @property
    def sound(self) -> bool:
        filled = all(seconds > 0 for seconds in self._seconds)
        return filled == self.known and all(0 <= value < math.inf for value in self.values)

    def rate(self, moment: LocalMoment) -> float:
        """Bytes per second at a moment, between the hours around it."""
        hour, after = divmod(moment.minute / 60.0, 1.0)
        first = int(hour) % _HOURS
        row = _HOURS * moment.kind
        near, next_ = self._cell(row + first), self._cell(row + (first + 1) % _HOURS)
        return near + after * (next_ - near)

    def hourly(self, kind: DayKind) -> tuple[float, ...]:
        row = _HOURS * kind
        return tuple(map(self._cell, range(row, row + _HOURS)))

    def seen(self, moment: LocalMoment) -> bool:
        """Whether there was a measure near that hour on such a day."""
        nearest = _HOURS * moment.kind + round(moment.minute / 60.0) % _HOURS
        return self._seconds[nearest] >= _SEEN * max(self._seconds)

    def fill(self, rate: float, seconds: float) -> None:
        """The first measure speaks for every hour of every day ..."""
        for cell in range(CELLS):
            self._bytes[cell], self._seconds[cell] = seconds * rate, seconds

    def fill_steadily(self, rate: float, seconds: float, moment: LocalMoment) -> None:
        """... with the weights that it has there."""
        for cell, counts in enumerate(_steady_weights(int(moment.minute), moment.kind)):
            self._bytes[cell], self._seconds[cell] = counts * seconds * rate, counts * seconds

    def learn_by_paper(self, rate: float, moment: LocalMoment) -> None:
        for cell, phi in enumerate(_weights(int(moment.minute)), _HOURS * moment.kind):
            self._bytes[cell] += phi * (rate - self._bytes[cell])

    def learn_by_ratio(self, bytes_: float, seconds: float, moment: LocalMoment) -> None:
        for cell, paper_phi in enumerate(_weights(int(moment.minute)), _HOURS * moment.kind):
            phi = paper_phi / _SLOWER
            had_bytes, had_seconds = self._bytes[cell], self._seconds[cell]
            # Neither sum may jump, so no single measure doubles or halves the estimate by much.
            most = _MOST_TIMES * had_bytes * min(seconds / had_seconds, 1.0)
            self._bytes[cell] += phi * (min(bytes_, most) - had_bytes)
            self._seconds[cell] += phi * (min(seconds, _MOST_TIMES * had_seconds) - had_seconds)

    def learn_steadily(
        self, bytes_: float, seconds: float, moment: LocalMoment, hours: float
    ) -> None:
        """``hours`` that were watched since the measure before."""
        rate = min(bytes_ / seconds, _MOST_TIMES * self.rate(moment))
        seconds = min(seconds, MOST_SECONDS)
        for cell, counts in enumerate(_steady_weights(int(moment.minute), moment.kind)):
            keep = 1.0 - hours * counts / _SLOWER
            self._bytes[cell] = keep * self._bytes[cell] + counts * seconds * rate
            self._seconds[cell] = keep * self._seconds[cell] + counts * seconds

    def _cell(self, cell: int) -> float:
        return self._bytes[cell] / self._seconds[cell]


_KEPT = 0.9
"""Factor on the sums at each new measure."""
_TELLING = 0.1
"""How much measures must differ, relative to the maximum, to separate the cost of requests from
that of bytes."""
_MOMENTS = 5


class RequestCost:
    """The cost of a request to a server beyond its bytes, and the time to the first byte.

    Sums over measures, in which older ones fade.

    Of one address.
    """

    __slots__ = ("_moments", "first_byte", "requests")

    def __init__(self, sums: Sequence[float] = (0.0,) * (_MOMENTS + 2)) -> None:
        """``sums`` as `sums` gives them."""
        self._moments = list(sums[:_MOMENTS])
        """Sums of n n, n b, b b, n s, b s over measures of n requests, b bytes, s seconds."""
        self.requests, self.first_byte = sums[_MOMENTS:]
        """Seconds to the first byte, over ``requests``."""

    @property
    def sums(self) -> tuple[float, ...]:
        return (*self._moments, self.requests, self.first_byte)

    @property
    def latency_seconds(self) -> float:
        """Mean time from a request to the first byte of its response."""
        return self.first_byte / self.requests if self.requests else 0.0

    @property
    def seconds(self) -> float:
        """a in seconds = a requests + bytes / speed, by least squares; the latency where requests
        were too much alike to tell."""
        nn, nb, bb, ns, bs = self._moments
        determinant = nn * bb - nb * nb
        if determinant <= _TELLING * nn * bb:
            return min(self.latency_seconds, ns / nn) if nn else self.latency_seconds
        return min(max((ns * bb - bs * nb) / determinant, 0.0), ns / nn)

    def answered(self, requests: int, first_byte_seconds: float) -> None:
        """So many requests were answered, after so many seconds in all."""
        self.requests = _KEPT * self.requests + requests
        self.first_byte = _KEPT * self.first_byte + first_byte_seconds

    def took(self, requests: int, bytes_: float, seconds: float) -> None:
        """So many requests with so many bytes took so long, limited by the server."""
        n, b, s = requests, bytes_, seconds
        for index, product in enumerate((n * n, n * b, b * b, n * s, b * s)):
            self._moments[index] = _KEPT * self._moments[index] + product


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server as earlier runs measured it, with the hour it is there now.

    One address, measured at least once.
    """

    address: str
    hosts: tuple[str, ...]
    speed: ServerSpeed
    calendar: Calendar
    now: LocalMoment

    @property
    def rate_now(self) -> float:
        return self.speed.rate(self.now) or 0.0

    @property
    def working_day(self) -> tuple[float, ...]:
        return self.speed.hourly(DayKind.WORKING)

    @property
    def holiday(self) -> tuple[float, ...]:
        return self.speed.hourly(DayKind.HOLIDAY)

    @property
    def today(self) -> tuple[float, ...]:
        """The hours of a day like this one."""
        return self.speed.hourly(self.now.kind)
