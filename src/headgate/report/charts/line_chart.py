"""Charts with lines, marks and bars over two axes, other than those over the time of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from headgate.report.charts.axes import round_ticks
from headgate.report.charts.svg import Chart, for_any_screen
from headgate.report.markup import Markup, element, joined

__all__ = [
    "NARROW",
    "WIDE",
    "Axis",
    "CalendarAxis",
    "ChartLine",
    "Frame",
    "Plane",
    "legend",
    "line_chart",
]

_BAR_SHARE = 0.8
_MARK = 3.2
_LETTER = 6.2
"""Maximum width of a character in a tick label."""

Points = Sequence[tuple[float, float]]


class Frame(msgspec.Struct, frozen=True):
    """Where the plane lies in its chart."""

    left: float
    width: float
    right: float
    height: float
    most_ticks: int
    top: float = 14.0
    below: float = 44.0

    @property
    def outer(self) -> float:
        return self.left + self.width + self.right

    @property
    def bottom(self) -> float:
        return self.top + self.height


WIDE = Frame(left=76.0, width=600.0, right=24.0, height=260.0, most_ticks=10)
NARROW = Frame(left=60.0, width=322.0, right=18.0, height=230.0, most_ticks=5)


class Axis(msgspec.Struct, frozen=True):
    """From ``low`` to ``high``, evenly or by powers of ten."""

    low: float
    high: float
    caption: str = ""
    write: Callable[[float], str] = "{:,g}".format
    by_powers: bool = False
    whole: bool = False
    """Only whole numbers are marked."""
    steps: tuple[float, ...] = ()
    """From mark to mark, the smallest first; none: round numbers."""

    @classmethod
    def of_powers(
        cls,
        values: Iterable[float],
        caption: str = "",
        write: Callable[[float], str] = "{:,g}".format,
    ) -> Axis:
        """Powers of ten that hold the values, as far as they are above 0."""
        known = [value for value in values if value > 0] or [1.0]
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        return cls(10.0**low, 10.0 ** max(high, low + 1), caption, write, by_powers=True)

    def share(self, value: float) -> float:
        """How far along a value lies; what lies outside is at the edge."""
        if self.by_powers:
            value, low, high = (math.log10(max(v, 1e-300)) for v in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        if self.by_powers:
            powers = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
            values = [10.0**power for power in powers]
        elif self.steps:
            span = self.high - self.low
            step = next((step for step in self.steps if span / step <= most), self.steps[-1])
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            values = [step * k for k in range(first, last + 1)]
        else:
            values = round_ticks(self.low, self.high, most)
        if self.whole:
            values = [value for value in values if value == round(value)]
        return [(value, self.write(value)) for value in values]


class ChartLine(msgspec.Struct, frozen=True):
    name: str
    points: Points
    colour: str
    """A class of the style sheet: "c0" to "c9" or "c-other"."""
    kind: str = ""
    """Classes: "dashed", "ours"."""
    joined: bool = True
    """False: marks only."""
    marked: bool = False
    bars: bool = False
    number: int | None = None
    """Of the site that it is of."""


class Plane(msgspec.Struct, frozen=True):
    frame: Frame
    across: Axis
    up: Axis

    def x(self, value: float) -> float:
        return self.frame.left + self.frame.width * self.across.share(value)

    def y(self, value: float) -> float:
        return self.frame.bottom - self.frame.height * self.up.share(value)

    def grid(self) -> Iterator[Markup]:
        frame = self.frame
        right = frame.left + frame.width
        for value, label in self.across.ticks(frame.most_ticks):
            x = self.x(value)
            yield element("line", class_="grid", x1=x, x2=x, y1=frame.top, y2=frame.bottom)
            at, anchor = _within(x, _LETTER * len(label) / 2, frame.outer)
            yield element(
                "text", label, class_="tick", x=at, y=frame.bottom + 16, text_anchor=anchor
            )
        for value, label in self.up.ticks(6):
            y = self.y(value)
            yield element("line", class_="grid", x1=frame.left, x2=right, y1=y, y2=y)
            yield element(
                "text", label, class_="tick", x=frame.left - 8, y=y + 4, text_anchor="end"
            )
        if self.across.caption:
            yield element(
                "text",
                self.across.caption,
                class_="muted",
                x=right,
                y=frame.bottom + 36,
                text_anchor="end",
            )

    def line(self, line: ChartLine) -> Iterator[Markup]:
        at = [(self.x(x), self.y(y)) for x, y in line.points]
        kinds = f"line {line.colour} {line.kind}".rstrip()
        if line.bars:
            yield from self._bars(at, line.colour)
            return
        if line.joined:
            path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in at)
            yield element("path", d=path, class_=kinds, data_site=line.number)
        if line.marked or not line.joined:
            for x, y in at:
                yield element("circle", class_=f"mark {kinds}", cx=x, cy=y, r=_MARK)

    def _bars(self, at: Sequence[tuple[float, float]], colour: str) -> Iterator[Markup]:
        width = _BAR_SHARE * self.frame.width / max(len(at), 1)
        for x, y in at:
            height = self.frame.bottom - y
            yield element("rect", class_=colour, x=x - width / 2, y=y, width=width, height=height)

    def chart(self, title: str, content: Iterable[Markup]) -> Chart:
        height = self.frame.bottom + self.frame.below
        return Chart(title, self.frame.outer, height, joined((*self.grid(), *content)), "plane")


def _within(x: float, half: float, outer: float) -> tuple[float, str]:
    """Position and anchor of a label, so that it is not cut off.

    >>> _within(50.0, 20.0, 100.0), _within(90.0, 20.0, 100.0), _within(5.0, 20.0, 100.0)
    ((50.0, 'middle'), (100.0, 'end'), (0.0, 'start'))
    """
    if x + half > outer:
        return outer, "end"
    return (0.0, "start") if x < half else (x, "middle")


def line_chart(title: str, across: Axis, up: Axis, lines: Sequence[ChartLine]) -> Markup:
    """Lines with their names above them."""
    wide, narrow = (
        plane.chart(title, (part for line in lines for part in plane.line(line)))
        for plane in (Plane(WIDE, across, up), Plane(NARROW, across, up))
    )
    return joined((legend(lines, up.caption), for_any_screen(wide, narrow)))


def legend(lines: Iterable[ChartLine], what: str = "") -> Markup:
    """The legend of colours; ``what``: the caption of the vertical axis."""
    keys = [
        element("span", element("span", class_=f"key {line.colour}"), line.name, class_="entry")
        for line in lines
        if line.name
    ]
    told = [element("span", f"{what}:", class_="entry")] if what else []
    return element("p", *told, *keys, class_="note legend") if keys or told else Markup("")


_HOUR, _DAY = 3_600.0, 86_400.0
_FEW_DAYS = 3.0
_HOURS = (1 / 60, 1 / 12, 1 / 4, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0)
_DAYS = (1.0, 2.0, 7.0, 14.0, 28.0, 56.0, 112.0)


@dataclass(frozen=True, slots=True)
class CalendarAxis:
    """A time axis by the calendar, in UTC: hours if it spans a few days, else days.

    Of seconds since 1970.
    """

    start: float
    end: float
    by_day: bool = False
    """Always days."""

    @property
    def _unit(self) -> float:
        few = self.end - self.start <= _FEW_DAYS * _DAY
        return _HOUR if few and not self.by_day else _DAY

    def place(self, moment: float) -> float:
        """Position of a time on the axis."""
        return moment / self._unit

    def axis(self) -> Axis:
        low, high = self.place(self.start), self.place(self.end)
        steps = _HOURS if self._unit == _HOUR else _DAYS
        return Axis(low, max(high, low + 1e-9), "UTC", self._label, steps=steps)

    def _label(self, place: float) -> str:
        moment = datetime.fromtimestamp(place * self._unit, UTC)
        if self._unit == _HOUR and (moment.hour or moment.minute):
            return f"{moment:%H:%M}"
        return f"{moment.day} {moment:%b}"
