"""Axes of charts: rates, times, and round numbers to label them with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from headgate.model.run_report import RunReport
from headgate.model.units import format_rate
from headgate.report.markup import Markup, element, joined

__all__ = ["RateScale", "TimeScale", "report_span", "round_ticks", "ticks"]

_HEADROOM = 1.14
_FAR_ABOVE = 4.0
"""A budget so many times above all rates is mentioned, not drawn: the rates would be a thin
line."""
_LABEL_WIDTH = 110.0
_MOST_TICKS = 5

BudgetPieces = Sequence[tuple[float, float | None]]
"""(start, rate) pieces of the budget; rate None: no limit."""


class RateScale(msgspec.Struct, frozen=True):
    """The vertical axis of rates, and the budget drawn on it.

    ``highest`` is the rate at the top edge.
    """

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


_MINUTE, _HOUR_SECONDS, _DAY_SECONDS = 60.0, 3600.0, 86400.0
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR_SECONDS for step in (1, 2, 3, 6, 12)),
    *(step * _DAY_SECONDS for step in (1, 2, 7, 14, 28, 91, 182, 364)),
)


def ticks(span: float, most: int) -> list[tuple[float, str]]:
    """Round moments for a time axis, labelled the way people say them.

    Moments from 0 to ``span`` with labels, about ``most`` of them or fewer.

    >>> ticks(200, 5)
    [(0.0, '0'), (60.0, '1m'), (120.0, '2m'), (180.0, '3m')]
    >>> [label for _, label in ticks(7 * 3600, 5)]
    ['0', '2h', '4h', '6h']
    """
    step = next((step for step in _STEPS if span / step <= most), span / most)
    count = int(span / step + 1e-9)
    return [(index * step, _label(index * step)) for index in range(count + 1)]


def _label(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:g}s" if seconds else "0"
    parts = []
    for unit, length in (("d", _DAY_SECONDS), ("h", _HOUR_SECONDS), ("m", _MINUTE), ("s", 1.0)):
        amount, seconds = divmod(round(seconds), length)
        if amount:
            parts.append(f"{amount:.0f}{unit}")
    return " ".join(parts[:2])


_FAR_DEADLINE, _FAR_PLAN = 1.3, 1.6
"""A deadline or a planned end beyond so many times the run does not stretch the chart."""


def report_span(report: RunReport) -> float:
    """Seconds that a report's charts show: the run, and what lies not far behind its end."""
    end = max(report.seconds, max((point.time for point in report.timeline), default=0.0), 1e-3)
    far = [(site.deadline, _FAR_DEADLINE) for site in report.sites]
    far += [(site.planned_end, _FAR_PLAN) for site in report.sites]
    near = [moment for moment, times in far if moment is not None and moment <= times * end]
    return max(end, *near) if near else end


class TimeScale(msgspec.Struct, frozen=True):
    """From seconds to places: the time axis that the charts of one page share.

    ``span`` seconds drawn from ``left`` on, ``width`` wide, with a margin for remarks.
    """

    span: float
    left: float = 150.0
    width: float = 720.0
    margin: float = 90.0
    longest_name: int = 20
    """Characters that fit at the left."""
    most_ticks: int = 10

    @classmethod
    def narrow(cls, span: float) -> TimeScale:
        """For a phone."""
        return cls(span, left=92.0, width=228.0, margin=80.0, longest_name=11, most_ticks=4)

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def outer(self) -> float:
        """The width with both margins."""
        return self.right + self.margin

    def x(self, time: float) -> float:
        """The place of a moment; what lies outside is drawn at the edge."""
        return self.left + self.width * min(max(time / self.span, 0.0), 1.0)

    def grid(self, top: float, bottom: float) -> Markup:
        """Lines through the chart with their moments below."""
        return joined(
            joined(
                (
                    element("line", class_="grid", x1=x, x2=x, y1=top, y2=bottom),
                    element("text", label, class_="tick", x=x, y=bottom + 16, text_anchor="middle"),
                )
            )
            for x, label in ((self.x(moment), label) for moment, label in self._ticks())
        )

    def _ticks(self) -> list[tuple[float, str]]:
        return ticks(self.span, self.most_ticks)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers for an axis: one, two or five of some power of ten apart.

    Numbers from ``low`` to ``high``, a step more than ``most`` at the most.

    >>> round_ticks(0, 340_000, 5)
    [0.0, 100000.0, 200000.0, 300000.0]
    >>> round_ticks(520, 540, 5)
    [520.0, 525.0, 530.0, 535.0, 540.0]
    >>> round_ticks(0, 1632, 6)
    [0.0, 500.0, 1000.0, 1500.0]
    """
    if high <= low:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(magnitude * k for k in (1, 2, 5, 10, 20) if (high - low) / (magnitude * k) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * k for k in range(first, last + 1)]
