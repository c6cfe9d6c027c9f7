"""How large a site is: foretold from what its crawl has shown so far, as a range.

    bytes still to come = announced + (known and not fetched + not yet known) * mean size

Announced is what responses under way have told by their Content-Length. URLs not yet known are
foretold level by level: pages of a depth bring new URLs at the rate that those fetched there did,
less where the latest brought less; a depth nobody has looked at brings few, more where depth after
depth has gone on. A chain, where each page leads to one more, may go on as long as it has.

The mean size is that of each depth to come, since a crawl meets large pages first (indexes). Pages
of a depth that was looked at have about the arithmetic mean of those there, large ones included. A
depth that nobody has looked at has the geometric mean of all that came: the few very large pages
above it are the site's indexes, and it is the leaves.

What was thought before (`Forecast`) counts as much as it is sure, fully as long as true sizes often
enough lie so far from what the crawl shows, and not at all where they hardly ever do. Each look
judges anew: in half of all crawls the truth is out of the range once, so a word that was given up
for good would be given up in half of them. So a user's word stands as long as the crawl does not
contradict it, and a guess is gone after a few pages.

The constants were fitted to forty-four sites (`bench/foresight.py`); how well they do on others is
in docs/algorithms/size-estimates.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.control.forecast import Forecast, Source
from headgate.crawling.growth import Growth, Sizes
from headgate.crawling.progress import Progress
from headgate.model.size_range import SizeRange

__all__ = ["LOOK_BYTES", "SizeRange", "SizeWatch"]

LOOK_BYTES = 64_000
_LOOK_PART = 0.03
_FIRST_YIELD = 1.5
"""New URLs per page of a depth that no page was fetched of, over the root of all URLs known."""
_FIRST_WEIGHT = 6.0
"""So many depths of the site itself weigh as much as that."""
_YIELD_WEIGHT = 0.5
"""So many pages of a depth weigh as much as the depths before it."""
_LEAST_YIELD = 0.05
_NO_PAGE = 0.3
_NO_PART = 1e-3
_MOST_DEPTHS = 200
_CHAIN_DEPTHS = 4
"""Many sites have a page or two before the one that leads to all others."""
_MOST_GROWTH = 1e3
"""Times the URLs known: nobody can tell more."""
_TYPICAL_BYTES = 15_000
_TYPICAL_WEIGHT = 5.0
"""So many pages of the site weigh as much as the size of a typical one."""
_DEPTH_WEIGHT = 10.0
"""So many pages of a depth weigh as much as the depths above it."""
_GEOMETRIC = 0.25
"""Part of the geometric mean in that of a depth: a few very large pages say little of the rest."""
_BELOW, _BELOW_BY_UNKNOWN, _BELOW_BY_WAY = 1.0, 0.5, 1.8
_BELOW_KNOWN = 0.7
"""It goes down by that much from what is known to be there: the unknown may not be."""
_ABOVE, _ABOVE_BY_UNKNOWN, _ABOVE_BY_WAY, _ABOVE_BY_PAGES = 3.6, 1.0, 0.7, 0.32
"""The range of what is left, in natural logarithms. It is wider where much is unknown, where little
was seen, and at the end: the last pages are often links that lead nowhere, or a few large files.
"""
_TOO_MUCH, _TOO_LITTLE = (1.25, 1.65), (0.75, 1.25)
"""How far above or below what the crawl shows something foretold is doubtful, and refuted, in
lengths of the range on that side. At any one look one true size in thirty lies beyond the first and
one in fifty beyond the second; below it is one in twenty-five and in fifty-five."""
_GUESS_PAGES = 1
_CERTAIN = 0.02
"""Natural logarithm: where a forecast has no range."""
_FARTHEST = 50.0
"""Natural logarithm: of the last few bytes of a forecast a range may be beyond all numbers."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """In logarithms: a value, and how far its range goes down and up."""

    value: float
    below: float
    above: float

    def towards(self, other: float) -> float:
        """How far it goes on the side on which another value lies."""
        return self.below if other < self.value else self.above

    @property
    def range(self) -> SizeRange:
        return SizeRange(
            math.exp(self.value - min(self.below, _FARTHEST)),
            math.exp(self.value),
            math.exp(self.value + min(self.above, _FARTHEST)),
        )


class SizeWatch:
    """Of one site's visit."""

    def __init__(self, forecast: Forecast) -> None:
        low, high = forecast.bytes_range or (forecast.bytes, forecast.bytes)
        self._foretold = SizeRange(low, forecast.bytes, high)
        self.guessed = forecast.source is Source.GUESS
        self.whole = self._foretold
        """Of the whole visit, as it was thought of at the last look."""
        self.shown: float | None = None
        """The same by what the crawl alone shows; None: no page was fetched yet."""

    def suppose(self, size: SizeRange) -> None:
        """No page was seen yet, and something else is thought of the site."""
        self._foretold = self.whole = size

    def look(self, report: Progress) -> SizeRange:
        """What is still to come. Never nothing: that would mean the site has ended."""
        seen = _by_the_crawl(report)
        before = self._still_foretold(report.arrived_bytes)
        if seen is None:
            left = SizeRange.exactly(1.0) if before is None else before.range
        else:
            left = (seen if before is None else self._both(seen, before, report)).range
            to_come = math.exp(seen.value) + report.announced_bytes
            self.shown = to_come + report.arrived_bytes
        left = _at_least(left.plus(report.announced_bytes), 1.0)
        self.whole = left.plus(report.arrived_bytes)
        return left

    @property
    def look_bytes(self) -> float:
        """So much may a first look take: then it has seen what a look can see."""
        return max(LOOK_BYTES, _LOOK_PART * self.whole.low)

    def _both(self, seen: _Estimate, before: _Estimate, report: Progress) -> _Estimate:
        """Weighed by how sure each is, on the side on which the other lies; as far as the forecast
        is believed."""
        believed = _believed(seen, before.value)
        worth = min(1.0, _GUESS_PAGES / max(report.growth.responses, 1)) if self.guessed else 1.0
        weight_seen = seen.towards(before.value) ** -2
        weight_before = worth * before.towards(seen.value) ** -2
        part = believed * weight_before / (weight_seen + weight_before)
        return _Estimate(
            seen.value + part * (before.value - seen.value),
            _narrower(seen.below, before.below, worth * believed),
            _narrower(seen.above, before.above, worth * believed),
        )

    def _still_foretold(self, arrived: float) -> _Estimate | None:
        """None: more has come than was foretold."""
        left = self._foretold.likely - arrived
        if left < 1.0:
            return None
        part = max(left / self._foretold.likely, 1e-6)
        low = max(self._foretold.low - arrived, left * 1e-6)
        high = max(self._foretold.high - arrived, left)
        return _Estimate(
            math.log(left),
            max(math.log(left / low), _CERTAIN / part),
            max(math.log(high / left), _CERTAIN / part),
        )


def _by_the_crawl(report: Progress) -> _Estimate | None:
    """Of what is to come beyond what was announced; None: no page was fetched yet."""
    growth = report.growth
    fetched = growth.responses
    known = max(report.to_do - report.announced_fetches, 0)
    if not fetched:  # robots.txt and a sitemap that is not there say nothing of pages
        return None
    unknown, by_depth = _to_come(growth, report.to_do)
    pages = max(known + unknown, _NO_PAGE)
    part = unknown / (known + unknown) if unknown else 0.0
    way = fetched / (fetched + pages)
    return _Estimate(
        math.log(pages * _mean_bytes(growth, by_depth)),
        max(
            _BELOW * math.exp(_BELOW_BY_UNKNOWN * part + _BELOW_BY_WAY * way**2),
            _BELOW_KNOWN - math.log(max(1.0 - part, _NO_PART)),
        ),
        _ABOVE
        * math.exp(_ABOVE_BY_UNKNOWN * part + _ABOVE_BY_WAY * way**2)
        * fetched**-_ABOVE_BY_PAGES,
    )


def _to_come(growth: Growth, to_do: int) -> tuple[float, list[float]]:
    """URLs not yet known, level by level from the seeds down; and by depth, with those known."""
    waiting = sum(growth.known) - sum(growth.settled)
    of_waiting = to_do / waiting if waiting else 0.0  # robots.txt and the like dropped the others
    known = new = total = yields = depths = 0.0
    if _is_chain(growth):
        return float(sum(growth.settled)), []
    by_depth = []
    for depth in range(_MOST_DEPTHS):
        level = _Level.of(growth, depth)
        rest = (level.known - level.settled) * of_waiting + new
        if depth >= len(growth.known) and rest < _NO_PAGE:
            break
        by_depth.append(rest)
        known += level.settled + rest
        first = _FIRST_YIELD / math.sqrt(max(known, 1.0))
        elsewhere = (first * _FIRST_WEIGHT + yields) / (_FIRST_WEIGHT + depths)
        new = rest * level.further_yield(growth.late_brought, elsewhere)
        total += new
        if total > _MOST_GROWTH * known:
            break
        if depth:
            whole = max(level.settled + rest, 1.0)
            yields += level.settled / whole * min((level.brought + new) / whole, 1.0)
            depths += level.settled / whole
    return total, by_depth


def _is_chain(growth: Growth) -> bool:
    """Whether every page led to one more: as far as anybody can tell, half of it is there."""
    return len(growth.known) > _CHAIN_DEPTHS and all(urls == 1 for urls in growth.known)


@dataclass(frozen=True, slots=True)
class _Level:
    """The pages of one depth."""

    known: int = 0
    settled: int = 0
    brought: int = 0

    @classmethod
    def of(cls, growth: Growth, depth: int) -> _Level:
        if depth >= len(growth.known):
            return cls()
        return cls(growth.known[depth], growth.settled[depth], growth.brought[depth])

    def further_yield(self, lately: float, elsewhere: float) -> float:
        """New URLs that each further page of the depth will bring: as many as those before it,
        less as far as the latest brought less."""
        if not self.settled:
            return elsewhere
        mean = self.brought / self.settled
        decline = min((lately + _LEAST_YIELD) / (mean + _LEAST_YIELD), 1.0)
        return decline * (self.brought + elsewhere * _YIELD_WEIGHT) / (self.settled + _YIELD_WEIGHT)


def _mean_bytes(growth: Growth, to_come: Sequence[float]) -> float:
    """Of pages to come, so many by depth. A depth is like the one above it, as far as its own pages
    do not show otherwise; one that nobody has looked at is like what is common on the site."""
    logs = sum(sizes.log_bytes for sizes in growth.sizes)
    common = _weighed(
        math.log(_TYPICAL_BYTES), _TYPICAL_WEIGHT, logs / growth.responses, growth.responses
    )
    above, total = common, 0.0
    for depth, pages in enumerate(to_come):
        sizes = growth.sizes[depth] if depth < len(growth.sizes) else None
        if sizes is not None and sizes.responses:
            above = _weighed(above, _DEPTH_WEIGHT, _own_mean(sizes), sizes.responses)
            total += pages * math.exp(above)
        else:
            total += pages * math.exp(common)
    pages = sum(to_come)
    return total / pages if pages else math.exp(common)


def _own_mean(sizes: Sizes) -> float:
    """In logarithms, between the geometric and the arithmetic mean."""
    geometric = sizes.log_bytes / sizes.responses
    arithmetic = math.log(max(sizes.wire_bytes / sizes.responses, 1.0))
    return _GEOMETRIC * geometric + (1 - _GEOMETRIC) * arithmetic


def _weighed(one: float, weight: float, other: float, other_weight: float) -> float:
    return (one * weight + other * other_weight) / (weight + other_weight)


def _believed(seen: _Estimate, foretold: float) -> float:
    """How far what was foretold counts, from 0 to 1."""
    apart = abs(foretold - seen.value) / seen.towards(foretold)
    doubtful, refuted = _TOO_MUCH if foretold > seen.value else _TOO_LITTLE
    return min(max((refuted - apart) / (refuted - doubtful), 0.0), 1.0)


def _narrower(seen: float, before: float, believed: float) -> float:
    """How far the range of both goes, where ``before`` counts so much."""
    return seen + believed * (1 / math.hypot(1 / seen, 1 / before) - seen)


def _at_least(size: SizeRange, bytes_: float) -> SizeRange:
    return SizeRange(max(size.low, bytes_), max(size.likely, bytes_), max(size.high, bytes_))
