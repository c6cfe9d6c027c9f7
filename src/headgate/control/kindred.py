"""Estimates an unknown site's size from the other sites of the crawl.

Of a hundred unknown sites only a few can be looked at before the first deadlines come near. If
those have three pages each, the others are hardly as large as the default guess (`forecast`), by
which all deadlines would be hopeless and some would be given up that can be kept. So the guess is
averaged with the sizes seen so far, in logarithms, and its range with their spread. Only what a
site's own crawl shows counts, not what was assumed of it: a guess must not confirm itself.

Cost: O(1) per look at a site, with two numbers kept for each.
"""

from __future__ import annotations

import math

import msgspec

from headgate.model.size_range import SizeRange

__all__ = ["Kindred"]

_GUESS_WEIGHT = 1.0
"""The guess weighs as much as this many sites."""
_RANGE = 1.645
"""Standard deviations: 90 % of a normal distribution lie within."""
_WORTH_TELLING = 0.05
"""Natural logarithm."""


class Kindred(msgspec.Struct):
    """Sizes of the sites of one crawl, as estimated from their own pages."""

    _logs: dict[str, float] = msgspec.field(default_factory=dict)
    _sum: float = 0.0
    _squares: float = 0.0
    _told: tuple[int, float] = (0, 0.0)

    def note(self, site: str, bytes_: float) -> None:
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

        >>> seen = Kindred()
        >>> for k in range(9):
        ...     seen.note(f"site-{k}", 100e3)
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
