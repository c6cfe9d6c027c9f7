"""Common parts of rows in Gantt charts: name, colour, deadline, a remark."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.views.markup import Markup, element, shortened
from headgate.views.site_colours import colour_class
from headgate.views.time_scale import TimeScale

__all__ = ["deadline_mark", "remark", "row_head"]

_NEXT_TO = 5.0


def row_head(name: str, number: int, scale: TimeScale, height: float) -> Iterator[Markup]:
    """The row's background, its name, and its colour."""
    yield element("rect", class_="row", x=0, y=0, width=scale.outer, height=height)
    yield element(
        "text",
        shortened(name, scale.longest_name),
        class_="name",
        x=scale.left - 12,
        y=height / 2 + 4,
        text_anchor="end",
    )
    yield element(
        "rect",
        class_=f"tab {colour_class(number)}",
        x=scale.left - 7,
        y=height * 0.15,
        width=4,
        height=height * 0.7,
    )


def deadline_mark(x: float, height: float) -> Markup:
    return element("line", class_="deadline", x1=x, x2=x, y1=1, y2=height - 1)


def remark(words: str, kind: str, x: float, height: float) -> Markup:
    """Beside a bar that ends at ``x``."""
    return element("text", words, class_=f"remark {kind}", x=x + _NEXT_TO, y=height / 2 + 4)
