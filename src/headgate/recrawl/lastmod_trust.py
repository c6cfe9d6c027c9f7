"""Whether a site's lastmod can be relied on: sitemaps and feeds that say when a page changed.

A page that is told to have changed since the last look is taken to have changed with probability
0.9; with 0.5 at a site where more than half of what was told turned out wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.recrawl.arrays import BoolArray

__all__ = ["LastmodTrust"]

_TRUSTED, _DOUBTED = 0.9, 0.5
_FEW = 4
"""As long as less was told, it is trusted."""


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """What looks found where a change was told."""

    right: int = 0
    wrong: int = 0

    @property
    def probability(self) -> float:
        """That a page has changed that is told to have.

        >>> LastmodTrust(right=3, wrong=1).probability, LastmodTrust(right=2, wrong=3).probability
        (0.9, 0.5)
        """
        told = self.right + self.wrong
        return _DOUBTED if told >= _FEW and 2 * self.wrong > told else _TRUSTED

    def after_looks(self, *, told: BoolArray, changed: BoolArray) -> LastmodTrust:
        """After looks at pages, some of which were told to have changed."""
        right = int((told & changed).sum())
        return LastmodTrust(self.right + right, self.wrong + int(told.sum()) - right)
