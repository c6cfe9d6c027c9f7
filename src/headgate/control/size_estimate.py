"""The size of a site, as a range: from its own crawl so far, and from its sister sites."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from headgate.control.forecast import Forecast, Source
from headgate.crawling.progress import Growth, Progress, Sizes
from headgate.model.units import SizeRange

__all__ = ["LOOK_BYTES", "SizePrior", "SizeRange", "SizeWatch"]

LOOK_BYTES = 64_000
_LOOK_PART = 0.03
_FIRST_YIELD = 1.5
"""New URLs per page of a depth without a fetched page, over the root of all known URLs."""
_FIRST_WEIGHT = 6.0
"""That prior weighs as much as this many depths of the site itself."""
_YIELD_WEIGHT = 0.5
"""The depths above weigh as much as this many pages of a depth, for its yield."""
_LEAST_YIELD = 0.05
_NO_PAGE = 0.3
_NO_PART = 1e-3
_MOST_DEPTHS = 200
_CHAIN_DEPTHS = 4
"""Many sites have a page or two before the one that leads to all others."""
_MOST_GROWTH = 1e3
"""Largest estimate, as a multiple of the known URLs."""
_TYPICAL_BYTES = 15_000
_TYPICAL_WEIGHT = 5.0
"""The typical size weighs as much as this many pages of the site."""
_DEPTH_WEIGHT = 10.0
"""The depths above weigh as much as this many pages of a depth, for its page size."""
_GEOMETRIC = 0.25
"""Weight of the geometric mean in a depth's mean: a few very large pages say little of the rest."""
_BELOW, _BELOW_BY_UNKNOWN, _BELOW_BY_WAY = 1.0, 0.5, 1.8
_BELOW_KNOWN = 0.7
"""The lower bound from known URLs alone: the unknown ones may not exist."""
_ABOVE, _ABOVE_BY_UNKNOWN, _ABOVE_BY_WAY, _ABOVE_BY_PAGES = 3.6, 1.0, 0.7, 0.32
"""The range of what is left, in natural logarithms. It is wider if much is unknown, if few pages
were fetched, and near the end: the last pages are often dead links, or a few large files.
"""
_TOO_MUCH, _TOO_LITTLE = (1.25, 1.65), (0.75, 1.25)
"""How far above or below what the crawl shows a forecast is doubtful, and refuted, in lengths of
the range on that side. At any one look, one true size in thirty lies beyond the first and one in
fifty beyond the second; below, one in twenty-five and one in fifty-five."""
_GUESS_PAGES = 1
_CERTAIN = 0.02
"""Range of a forecast without one, as a natural logarithm."""
_FARTHEST = 50.0
"""Largest range, as a natural logarithm, so that exp() does not overflow."""


class _Estimate(msgspec.Struct, frozen=True):
    """A value and its range down and up, in natural logarithms."""

    value: float
    below: float
    above: float

    def towards(self, other: float) -> float:
        """The range on the side of another value."""
        return self.below if other < self.value else self.above

    @property
    def range(self) -> SizeRange:
        return SizeRange(
            math.exp(self.value - min(self.below, _FARTHEST)),
            math.exp(self.value),
            math.exp(self.value + min(self.above, _FARTHEST)),
        )


class SizeWatch:
    """Estimates the size of a site, as a range, from what its crawl has shown so far.

        bytes still to come = announced + (known and not fetched + not yet known) * mean size

    Announced bytes are those of responses in progress, by their Content-Length. URLs not yet known
    are estimated level by level: pages of a depth bring new URLs at the rate of those fetched
    there, less if the latest brought less; a depth without a fetched page brings few, more if the
    depths so far have gone on. A chain, where each page leads to one more, may go on as long as it
    has.

    The mean size is taken by depth, since a crawl meets large pages (indexes) first. A depth with
    fetched pages has about their arithmetic mean. A depth without has the geometric mean of all
    pages so far: the few very large pages above it are the site's indexes, and it has the leaves.

    The forecast (`Forecast`) is weighted by how certain it is: fully as long as true sizes often
    enough lie as far from what the crawl shows, and not at all where they hardly ever do. Each look
    decides afresh: in half of all crawls the truth is outside of the range once, so a forecast that
    was dropped for good would be dropped in half of them. So a size given by the user holds as long
    as the crawl does not contradict it, and a guess is gone after a few pages.

    The constants were fitted to forty-four sites (`bench/foresight.py`); how well they do on others
    is in docs/algorithms/size-estimates.md.

    The size of one site's visit.
    """

    def __init__(self, forecast: Forecast) -> None:
        low, high = forecast.bytes_range or (forecast.bytes, forecast.bytes)
        self._foretold = SizeRange(low, forecast.bytes, high)
        self.guessed = forecast.source is Source.GUESS
        self.whole = self._foretold
        """Estimate of the whole visit, as of the last look."""
        self.shown: float | None = None
        """The same from the crawl alone; None: no page was fetched yet."""

    def suppose(self, size: SizeRange) -> None:
        """Replace the forecast, before any page was fetched."""
        self._foretold = self.whole = size

    def observe(self, report: Progress) -> SizeRange:
        """The bytes still to come; never 0, which would mean that the site has ended."""
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
        """Bytes of a first look."""
        return max(LOOK_BYTES, _LOOK_PART * self.whole.low)

    def _both(self, seen: _Estimate, before: _Estimate, report: Progress) -> _Estimate:
        """Both estimates, weighted by how certain each is on the side of the other, and by how
        credible the forecast is."""
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
        """What is left of the forecast; None: more has come than was forecast."""
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
    """What is to come beyond the announced bytes; None: no page was fetched yet."""
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
    """Estimated number of URLs not yet known, and of all URLs to come by depth."""
    waiting = sum(growth.known) - sum(growth.settled)
    of_waiting = to_do / waiting if waiting else 0.0  # robots.txt and the like dropped the others
    known = new = total = yields = depths = 0.0
    if _is_chain(growth):
        return float(sum(growth.settled)), []
    by_depth = []
    for depth in range(_MOST_DEPTHS):
        level = _Level.at_depth(growth, depth)
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
    """Whether every page led to one more; the best guess is then that half of it is known."""
    return len(growth.known) > _CHAIN_DEPTHS and all(urls == 1 for urls in growth.known)


class _Level(msgspec.Struct, frozen=True):
    """The pages of one depth."""

    known: int = 0
    settled: int = 0
    brought: int = 0

    @classmethod
    def at_depth(cls, growth: Growth, depth: int) -> _Level:
        if depth >= len(growth.known):
            return cls()
        return cls(growth.known[depth], growth.settled[depth], growth.brought[depth])

    def further_yield(self, lately: float, elsewhere: float) -> float:
        """New URLs per further page of the depth: as many as before, less if the latest pages
        brought less."""
        if not self.settled:
            return elsewhere
        mean = self.brought / self.settled
        decline = min((lately + _LEAST_YIELD) / (mean + _LEAST_YIELD), 1.0)
        return decline * (self.brought + elsewhere * _YIELD_WEIGHT) / (self.settled + _YIELD_WEIGHT)


def _mean_bytes(growth: Growth, to_come: Sequence[float]) -> float:
    """Mean size of pages to come, given their number by depth. A depth is like the one above it
    unless its own pages show otherwise; one without fetched pages is like all pages so far."""
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
    """Logarithm of a mean between the geometric and the arithmetic one."""
    geometric = sizes.log_bytes / sizes.responses
    arithmetic = math.log(max(sizes.wire_bytes / sizes.responses, 1.0))
    return _GEOMETRIC * geometric + (1 - _GEOMETRIC) * arithmetic


def _weighed(one: float, weight: float, other: float, other_weight: float) -> float:
    return (one * weight + other * other_weight) / (weight + other_weight)


def _believed(seen: _Estimate, foretold: float) -> float:
    """How credible a forecast is, from 0 to 1."""
    apart = abs(foretold - seen.value) / seen.towards(foretold)
    doubtful, refuted = _TOO_MUCH if foretold > seen.value else _TOO_LITTLE
    return min(max((refuted - apart) / (refuted - doubtful), 0.0), 1.0)


def _narrower(seen: float, before: float, believed: float) -> float:
    """The range of both estimates together, with the credibility of ``before``."""
    return seen + believed * (1 / math.hypot(1 / seen, 1 / before) - seen)


def _at_least(size: SizeRange, bytes_: float) -> SizeRange:
    return SizeRange(max(size.low, bytes_), max(size.likely, bytes_), max(size.high, bytes_))


_GUESS_WEIGHT = 1.0
"""The guess weighs as much as this many sites."""
_RANGE = 1.645
"""Standard deviations: 90 % of a normal distribution lie within."""
_WORTH_TELLING = 0.05
"""Natural logarithm."""


class SizePrior(msgspec.Struct):
    """Estimates an unknown site's size from the other sites of the crawl.

    Of a hundred unknown sites only a few can be looked at before the first deadlines come near. If
    those have three pages each, the others are hardly as large as the default guess (`forecast`),
    by which all deadlines would be hopeless and some would be given up that can be kept. So the
    guess is averaged with the sizes seen so far, in logarithms, and its range with their spread.
    Only what a site's own crawl shows counts, not what was assumed of it: a guess must not confirm
    itself.

    Cost: O(1) per look at a site, with two numbers kept for each.

    Sizes of the sites of one crawl, as estimated from their own pages.
    """

    _logs: dict[str, float] = msgspec.field(default_factory=dict)
    _sum: float = 0.0
    _squares: float = 0.0
    _told: tuple[int, float] = (0, 0.0)

    def record(self, site: str, bytes_: float) -> None:
        """Set the estimate of a site; replaces an earlier one."""
        before = self._logs.get(site)
        if before is not None:
            self._sum -= before
            self._squares -= before * before
        log = self._logs[site] = math.log(max(bytes_, 1.0))
        self._sum += log
        self._squares += log * log

    def news(self) -> bool:
        """Whether the estimate has changed noticeably since this last returned True."""
        count = len(self._logs)
        if not count:
            return False
        mean = self._sum / count
        known, told = self._told
        if known and count < 2 * known and abs(mean - told) < _WORTH_TELLING:
            return False
        self._told = (count, mean)
        return True

    def like_these(self, guess: SizeRange) -> SizeRange:
        """The estimate for an unknown site.

        >>> seen = SizePrior()
        >>> for k in range(9):
        ...     seen.record(f"site-{k}", 100e3)
        >>> round(seen.like_these(SizeRange(0.8e6, 8e6, 80e6)).likely / 1e3)
        155
        """
        count = len(self._logs)
        weight = _GUESS_WEIGHT + count
        likely = (_GUESS_WEIGHT * math.log(guess.likely) + self._sum) / weight
        variance = self._squares / count - (self._sum / count) ** 2 if count else 0.0
        spread = math.log(guess.high / guess.likely)
        width = math.sqrt(
            (_GUESS_WEIGHT * spread**2 + count * _RANGE**2 * max(variance, 0.0)) / weight
        )
        return SizeRange(math.exp(likely - width), math.exp(likely), math.exp(likely + width))
