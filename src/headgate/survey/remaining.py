"""How many hosts are still to be found, as far as can be foreseen.

Each page that waits brings its own value and opens pages below it. With r(d) pages opened by a page
of depth d on the average, and b(d) new hosts per page, a page of depth d leads to

    G(d) = b(d) + r(d) * G(d + 1),     G = 0 below the deepest level

so what waits will bring the sum of value * G(d) / b(d). This foresees no host twice over, so it is
high where servers share their links; the fading of yields makes up for most of that.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.survey.server_tree import ServerTree
from headgate.survey.yields import YieldModel

__all__ = ["Growth", "hosts_to_come"]


class Growth:
    """Pages opened per page, by depth; two numbers per level."""

    __slots__ = ("_opened", "_pages")

    def __init__(self, deepest: int) -> None:
        self._opened = [0.0] * (deepest + 1)
        self._pages = [0.0] * (deepest + 1)

    def learn(self, depth: int, opened: int) -> None:
        self._opened[depth] += opened
        self._pages[depth] += 1

    def worth(self, profile: list[float]) -> list[float]:
        """G(d) / b(d) for every depth."""
        deepest = len(self._pages) - 1
        total = [0.0] * (deepest + 2)
        for depth in range(deepest, -1, -1):
            ratio = self._opened[depth] / max(self._pages[depth], 1.0)
            below = ratio * total[depth + 1] if depth < deepest else 0.0
            total[depth] = profile[depth] + below
        return [total[depth] / profile[depth] for depth in range(deepest + 1)]


def hosts_to_come(trees: Iterable[ServerTree], model: YieldModel, growth: Growth) -> float:
    """The expected number; costs a look at every kind of page that waits."""
    worth = growth.worth(model.depth_profile())
    return sum(
        model.value(kind) * count * worth[kind.depth]
        for tree in trees
        for kind, count in tree.waiting_by_kind()
    )
