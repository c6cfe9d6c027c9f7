"""Two keepers compared, as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.units import format_size
from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.html_page import document, section, table
from headgate.report.markup import Markup, element, joined

__all__ = ["Kept", "keep_demo_page"]

_COLOURS = ("c0", "c9")


@dataclass(frozen=True, slots=True)
class Kept:
    """The results of one keeper, by the true state of the web."""

    name: str
    times: Sequence[float]
    """Times in seconds, of the values that follow."""
    fresh: Sequence[float]
    ages: Sequence[float]
    moved: Sequence[float]
    """Bytes transferred since the first time."""
    looks: int

    @property
    def stale(self) -> float:
        """Share of the pages that were out of date, on average."""
        return 1.0 - sum(self.fresh) / len(self.fresh)

    @property
    def age(self) -> float:
        """Mean over all pages and times, in seconds."""
        return sum(self.ages) / len(self.ages)

    @property
    def wire_bytes(self) -> float:
        return self.moved[-1]


def compared(ours: Kept, other: Kept) -> str:
    """A comparison in words, including bytes: more bytes make it easier."""
    more = ours.wire_bytes / max(other.wire_bytes, 1.0)
    return (
        f"{ours.stale / max(other.stale, 1e-9):.2f} times as many pages out of date,"
        f" {ours.age / max(other.age, 1e-9):.2f} times as long, with {more:.2f} times the bytes"
    )


def keep_demo_page(kept: Sequence[Kept], about: str) -> str:
    """The first is ours."""
    title = "Kept fresh, beside looking at all pages alike"
    parts = [
        element("p", "headgate demo --keep", class_="kicker"),
        element("h1", title),
        element("p", about, class_="amounts"),
        element("p", f"{kept[0].name} had {compared(*kept)}.", class_="amounts"),
        section("Pages out of date", _staleness(kept)),
        section("For how long, the mean of all pages", _ages(kept)),
        section("Bytes on the line", _bytes(kept)),
        section("In figures", _table(kept)),
    ]
    return document(title, joined(parts))


def _staleness(kept: Sequence[Kept]) -> Markup:
    lines = _lines(kept, [[1.0 - fresh for fresh in one.fresh] for one in kept])
    upright = Axis(0.0, _highest(lines), "", lambda share: f"{100 * share:g}%")
    return line_chart("Staleness", _across(kept), upright, lines)


def _ages(kept: Sequence[Kept]) -> Markup:
    lines = _lines(kept, [one.ages for one in kept])
    return line_chart("Age", _across(kept), Axis(0.0, _highest(lines), "", "{:g} s".format), lines)


def _bytes(kept: Sequence[Kept]) -> Markup:
    lines = _lines(kept, [one.moved for one in kept])
    return line_chart("Bytes", _across(kept), Axis(0.0, _highest(lines), "", format_size), lines)


def _lines(kept: Sequence[Kept], heights: Sequence[Sequence[float]]) -> list[ChartLine]:
    return [
        ChartLine(one.name, list(zip(one.times, high, strict=True)), colour)
        for one, high, colour in zip(kept, heights, _COLOURS, strict=True)
    ]


def _across(kept: Sequence[Kept]) -> Axis:
    return Axis(0.0, max(one.times[-1] for one in kept), "seconds")


def _highest(lines: Sequence[ChartLine]) -> float:
    return 1.08 * max((y for line in lines for _, y in line.points), default=0.0) or 1.0


def _table(kept: Sequence[Kept]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", one.name),
            element("td", f"{one.stale:.1%}"),
            element("td", f"{one.age:.1f} s"),
            element("td", f"{one.looks:,}"),
            element("td", format_size(one.wire_bytes)),
            class_="ours" if number == 0 else None,
        )
        for number, one in enumerate(kept)
    ]
    return table(("policy", "out of date", "for", "looks", "on the line"), rows)
