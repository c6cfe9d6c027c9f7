"""Whether the dates of change in a site's sitemaps and feeds (lastmod) can be trusted.

A page with a date after the last look has changed with probability 0.9; with 0.5 at a site where
more than half of such dates were wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.recrawl.arrays import BoolArray

__all__ = ["LastmodTrust"]

_TRUSTED, _DOUBTED = 0.9, 0.5
_FEW = 4
"""A site with fewer dates is trusted."""


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """How many reported changes looks confirmed, and how many not."""

    right: int = 0
    wrong: int = 0

    @property
    def probability(self) -> float:
        """Probability that a page has changed if it is reported to.

        >>> LastmodTrust(right=3, wrong=1).probability, LastmodTrust(right=2, wrong=3).probability
        (0.9, 0.5)
        """
        told = self.right + self.wrong
        return _DOUBTED if told >= _FEW and 2 * self.wrong > told else _TRUSTED

    def after_looks(self, *, told: BoolArray, changed: BoolArray) -> LastmodTrust:
        """Updated after looks; ``told``: which pages were reported as changed."""
        right = int((told & changed).sum())
        return LastmodTrust(self.right + right, self.wrong + int(told.sum()) - right)
