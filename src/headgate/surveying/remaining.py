"""Estimates what is still to come, by depth.

Each waiting page has a value and opens pages below it. With r(d) pages opened by a page of depth d
on the average, and b(d) new hosts per page, the pages P and hosts T still to come are

    P(d) = waiting(d) + P(d - 1) * r(d - 1)
    T(d) = value of what waits(d) + T(d - 1) * r(d - 1) * b(d) / b(d - 1)

This ignores that hosts may be found twice, so it is too high if servers share links; the fading of
yields compensates for most of that.

Below the depth limit, links were seen but not followed: so many pages wait there. Their yield was
never measured; b is assumed to fall as it did before, and r and the factors of servers, sections
and words to stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.surveying.server_tree import ServerTree
from headgate.surveying.yields import YieldModel

__all__ = ["Growth", "Level", "levels_to_come"]

_LEVELS_BELOW = 4


@dataclass(frozen=True, slots=True)
class Level:
    """What was not requested of one depth."""

    depth: int
    pages: float
    new_hosts: float


class Growth:
    """Pages opened per page, by depth; two numbers per level."""

    __slots__ = ("_opened", "_pages")

    def __init__(self, deepest: int) -> None:
        self._opened = [0.0] * (deepest + 1)
        self._pages = [0.0] * (deepest + 1)

    def learn(self, depth: int, opened: int) -> None:
        self._opened[depth] += opened
        self._pages[depth] += 1

    def ratio(self, depth: int) -> float:
        """Below the depth limit, as just above it: how trees end is unknown."""
        depth = min(depth, len(self._pages) - 1)
        return self._opened[depth] / max(self._pages[depth], 1.0)


def levels_to_come(
    trees: Iterable[ServerTree], model: YieldModel, growth: Growth, deepest: int
) -> list[Level]:
    """From depth 0 to some levels below ``deepest``. Costs a look at every kind that waits."""
    pages = [0.0] * (deepest + 1 + _LEVELS_BELOW)
    hosts = [0.0] * len(pages)
    for tree in trees:
        for kind, count in tree.queue.counts():
            pages[kind.depth] += count
            hosts[kind.depth] += count * model.expected(kind)
        pages[deepest + 1] += tree.beyond
    yields = _yields(model, deepest, len(pages))
    hosts[deepest + 1] += pages[deepest + 1] * yields[deepest + 1] * model.usual_factor(deepest)
    for depth in range(1, len(pages)):
        ratio = growth.ratio(depth - 1)
        pages[depth] += pages[depth - 1] * ratio
        hosts[depth] += hosts[depth - 1] * ratio * yields[depth] / yields[depth - 1]
    return [Level(depth, *both) for depth, both in enumerate(zip(pages, hosts, strict=True))]


def _yields(model: YieldModel, deepest: int, count: int) -> list[float]:
    """b of every level; below ``deepest`` it falls as it did on the last levels."""
    known = model.depth_profile(deepest)
    since = max(deepest - _LEVELS_BELOW, 0)
    fall = min(known[deepest] / known[since], 1.0) ** (1 / max(deepest - since, 1))
    return known + [known[deepest] * fall**step for step in range(1, count - deepest)]
