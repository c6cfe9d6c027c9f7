"""How fast a server is at which hour of which kind of day (Diligenti et al. 2004).

48 estimates per server address (`hourly_cells`): 24 hours of a working day and 24 of a holiday. A
measure speaks for an hour with the weight phi, the less the further away it was made.

Three rules say what a measure does to a cell (docs/algorithms/server-speeds.md compares them):

* `Rule.PAPER`, the paper's own: B <- (1 - phi) B + phi M with M = bytes / seconds. It averages over
  downloads where the line sees time, so that quick long documents count too little.
* `Rule.RATIO`: bytes and seconds are kept apart, Z <- (1 - phi/3) Z + phi/3 bytes, W likewise, and
  B = Z / W. Unbiased, and quick to follow a change: for a run's own use.
* `Rule.STEADY`, the default: Z <- d Z + phi bytes, W <- d W + phi seconds. The first two forget by
  the measure, so after a hundred measures in one hour a cell holds what the hours after its own
  were like. Here the clock forgets: d = 1 - phi/3 for an hour that was watched, however often.

A measure also reaches cells far away, though with little weight, so that the first one fills all 48
and an hour never seen is estimated like the nearest that was.

A download that we held back ourselves is a lower bound (`Measure.at_least`): it can raise an
estimate, never lower one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from enum import StrEnum
from statistics import median

import msgspec

from headgate.model.local_time import DayKind, LocalMoment
from headgate.traffic.hourly_cells import CELLS, MOST_SECONDS, HourlyCells
from headgate.traffic.request_cost import RequestCost

__all__ = ["Measure", "Rule", "ServerSpeed", "ServerSpeeds"]

_LEAST_SECONDS = 1e-6
"""Shorter times are set to this."""
_MEDIAN_EVERY = 64
"""Measures between two looks at all servers."""
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
    """One address. 0.8 KB of estimates in memory, 0.4 KB stored.

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
        """Looks at every server, so it is updated only at intervals."""
        if self._until_median <= 0 or self._median is None:
            rates = [speed.rate(moment) for speed in self.by_address.values()]
            self._median = median(known) if (known := [r for r in rates if r]) else None
            self._until_median = _MEDIAN_EVERY
        return self._median
