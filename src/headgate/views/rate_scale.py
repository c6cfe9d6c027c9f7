"""The vertical axis of rates, and the budget drawn on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from headgate.model.units import format_rate
from headgate.views.markup import Markup, element, joined
from headgate.views.round_ticks import round_ticks
from headgate.views.time_scale import TimeScale

__all__ = ["BudgetPieces", "RateScale"]

_HEADROOM = 1.14
_FAR_ABOVE = 4.0
"""A budget so many times above all rates is mentioned, not drawn: the rates would be a thin
line."""
_LABEL_WIDTH = 110.0
_MOST_TICKS = 5

BudgetPieces = Sequence[tuple[float, float | None]]
"""(start, rate) pieces of the budget; rate None: no limit."""


class RateScale(msgspec.Struct, frozen=True):
    """``highest`` is the rate at the top edge."""

    highest: float
    top: float = 22.0
    height: float = 240.0
    below: float = 26.0

    @classmethod
    def holding(cls, most: float, budget: BudgetPieces) -> RateScale:
        """Of rates up to ``most``, and the budget where it is not far above them."""
        near = [
            rate
            for _, rate in budget
            if rate is not None and (rate <= _FAR_ABOVE * most or not most)
        ]
        return cls(_HEADROOM * max(most, *near, 1.0))

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def outer(self) -> float:
        return self.bottom + self.below

    def y(self, rate: float) -> float:
        return self.top + self.height * (1 - min(rate / self.highest, 1.0))

    def grid(self, scale: TimeScale) -> Markup:
        return joined(
            joined(
                (
                    element("line", class_="grid", x1=scale.left, x2=scale.right, y1=y, y2=y),
                    element(
                        "text",
                        format_rate(rate) if rate else "0",
                        class_="tick",
                        x=scale.left - 8,
                        y=y + 4,
                        text_anchor="end",
                    ),
                )
            )
            for rate, y in (
                (rate, self.y(rate)) for rate in round_ticks(0.0, self.highest, _MOST_TICKS)
            )
        )

    def budget_line(self, pieces: BudgetPieces, end: float, scale: TimeScale) -> Iterator[Markup]:
        """A step line; dashed along the top edge where the budget lies beyond it."""
        if all(rate is None for _, rate in pieces):
            return
        last_y: float | None = None
        free_from = scale.left
        for (start, rate), (until, _) in pairwise((*pieces, (max(end, pieces[-1][0]), None))):
            beyond = rate is None or rate > self.highest
            y = self.top if beyond or rate is None else self.y(rate)
            begin, finish = scale.x(start), scale.x(until)
            rise = "" if last_y is None else f"V{y:.1f}"
            path = f"M{begin:.1f},{y if last_y is None else last_y:.1f}{rise}H{finish:.1f}"
            yield element("path", d=path, class_="budget beyond" if beyond else "budget")
            roomy = finish - begin >= _LABEL_WIDTH or len(pieces) == 1
            if roomy and begin >= free_from:
                yield _budget_label(rate, begin, y, beyond=beyond)
                free_from = begin + _LABEL_WIDTH
            last_y = y


def _budget_label(rate: float | None, x: float, y: float, *, beyond: bool) -> Markup:
    words = "no limit" if rate is None else f"budget {format_rate(rate)}"
    arrow = " ▲" if beyond else ""
    return element("text", f"{words}{arrow}", class_="budget-label", x=x + 4, y=y - 6)
