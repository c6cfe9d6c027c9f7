"""Two keepers beside each other, as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.units import format_size
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined
from headgate.views.page_tables import table
from headgate.views.plane import Axis, Line, line_chart

__all__ = ["Kept", "keep_demo_page"]

_COLOURS = ("c0", "c9")


@dataclass(frozen=True, slots=True)
class Kept:
    """What one of them came to, by the truth."""

    name: str
    times: Sequence[float]
    fresh: Sequence[float]
    ages: Sequence[float]
    wire_bytes: float
    looks: int


def keep_demo_page(kept: Sequence[Kept], about: str) -> str:
    """The first is ours."""
    title = "Kept fresh, beside looking at all pages alike"
    parts = [
        element("p", "headgate demo --keep", class_="kicker"),
        element("h1", title),
        element("p", about, class_="amounts"),
        section("Pages that are as their servers have them", _chart(kept, ages=False)),
        section("For how long pages are out of date", _chart(kept, ages=True)),
        section("In figures", _table(kept)),
    ]
    return document(title, joined(parts))


def _chart(kept: Sequence[Kept], *, ages: bool) -> Markup:
    end = max(one.times[-1] for one in kept)
    lines = [
        Line(one.name, list(zip(one.times, one.ages if ages else one.fresh, strict=True)), colour)
        for one, colour in zip(kept, _COLOURS, strict=True)
    ]
    across = Axis(min(one.times[0] for one in kept), end, "seconds")
    if not ages:
        return line_chart("Freshness", across, Axis(0.0, 1.0, "", "{:.0%}".format), lines)
    highest = max(y for line in lines for _, y in line.points) or 1.0
    return line_chart("Age", across, Axis(0.0, highest * 1.08, "", "{:g} s".format), lines)


def _table(kept: Sequence[Kept]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", one.name),
            element("td", f"{_mean(one.fresh):.1%}"),
            element("td", f"{_mean(one.ages):.1f} s"),
            element("td", f"{one.looks:,}"),
            element("td", format_size(one.wire_bytes)),
            class_="ours" if number == 0 else None,
        )
        for number, one in enumerate(kept)
    ]
    return table(("policy", "fresh", "out of date for", "looks", "on the line"), rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
