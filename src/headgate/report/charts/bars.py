"""Charts of bars: piled up over time, or marks in named rows over one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headgate.report.charts.line_chart import NARROW, WIDE, Axis, ChartLine, Frame, Plane, legend
from headgate.report.charts.svg import Chart, for_any_screen
from headgate.report.markup import Markup, element, joined, shortened

__all__ = ["MarkKind", "MarkRow", "Pile", "mark_rows", "stacked_bars"]

_GAP = 0.12
_HEADROOM = 1.08


@dataclass(frozen=True, slots=True)
class Pile:
    """Bars over time, piled up by kind; what a bar holds is told where the pointer is.

    One bar.
    """

    start: float
    end: float
    parts: Sequence[float]
    """As many as there are kinds, the lowest first."""
    when: str
    """In words."""


def stacked_bars(
    title: str,
    across: Axis,
    kinds: Sequence[tuple[str, str]],
    piles: Sequence[Pile],
    write: Callable[[float], str],
) -> Markup:
    """``kinds`` are names and colours (classes of the style sheet), ``write`` words an amount."""
    highest = max((sum(pile.parts) for pile in piles), default=0.0) or 1.0
    up = Axis(0.0, highest * _HEADROOM, "", write)
    wide, narrow = (
        plane.chart(title, (part for pile in piles for part in _bar(plane, pile, kinds, write)))
        for plane in (Plane(WIDE, across, up), Plane(NARROW, across, up))
    )
    names = legend([ChartLine(name, (), colour) for name, colour in kinds])
    return joined((names, for_any_screen(wide, narrow)))


def _bar(
    plane: Plane, pile: Pile, kinds: Sequence[tuple[str, str]], write: Callable[[float], str]
) -> Iterator[Markup]:
    left, right = plane.x(pile.start), plane.x(pile.end)
    gap = _GAP * (right - left)
    low = 0.0
    for (_, colour), amount in zip(kinds, pile.parts, strict=True):
        if amount:
            top, bottom = plane.y(low + amount), plane.y(low)
            yield element(
                "rect", class_=f"{colour} band", x=left + gap / 2, y=top,
                width=max(right - left - gap, 0.5), height=max(bottom - top, 0.3),
            )  # fmt: skip
        low += amount
    frame = plane.frame
    yield element(
        "rect", class_="column", x=left, y=frame.top, width=max(right - left, 0.5),
        height=frame.height, data_tip=_words(pile, kinds, write),
    )  # fmt: skip


def _words(pile: Pile, kinds: Sequence[tuple[str, str]], write: Callable[[float], str]) -> Markup:
    """Several lines; the names are escaped one by one, so that the line breaks stay."""
    parts = zip(kinds, pile.parts, strict=True)
    lines = [pile.when, *(f"{write(amount)}  {name}" for (name, _), amount in parts if amount)]
    return joined(lines, "\n")


# Named rows over one axis, each with a mark for every kind, to compare numbers.


_RADIUS, _HOLLOW = 4.5, 7.0
"""A ring is visible around a dot at the same place."""
_WIDE_ROW, _NARROW_ROW = 26.0, 40.0
_WIDE_NAMES, _WIDE_LETTERS, _NARROW_LETTERS = 250.0, 38, 48


@dataclass(frozen=True, slots=True)
class MarkKind:
    name: str
    colour: str
    """A class of the style sheet: "c0" to "c9"."""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class MarkRow:
    name: str
    values: Sequence[float | None]
    """As many as there are kinds; None: not known."""
    span: tuple[float, float] | None = None
    """From the least to the most."""


def mark_rows(
    title: str, across: Axis, kinds: Sequence[MarkKind], rows: Sequence[MarkRow]
) -> Markup:
    keys = [ChartLine(kind.name, (), kind.colour + " hollow" * kind.hollow) for kind in kinds]
    wide, narrow = (
        _chart(title, across, kinds, rows, names_above=above) for above in (False, True)
    )
    return joined((legend(keys), for_any_screen(wide, narrow)))


def _chart(
    title: str,
    across: Axis,
    kinds: Sequence[MarkKind],
    rows: Sequence[MarkRow],
    *,
    names_above: bool,
) -> Chart:
    each = _NARROW_ROW if names_above else _WIDE_ROW
    left, width = (14.0, 368.0) if names_above else (_WIDE_NAMES, 430.0)
    frame = Frame(left, width, 20.0, each * len(rows), 4 if names_above else 8, top=6.0)
    plane = Plane(frame, across, Axis(0.0, 1.0))
    parts = (
        part
        for number, row in enumerate(rows)
        for part in _row(plane, frame.top + each * number, row, kinds, names_above=names_above)
    )
    content = joined((*_grid(plane), *parts))
    return Chart(title, frame.outer, frame.bottom + frame.below, content, "plane")


def _grid(plane: Plane) -> Iterator[Markup]:
    frame = plane.frame
    for value, label in plane.across.ticks(frame.most_ticks):
        x = plane.x(value)
        yield element("line", class_="grid", x1=x, x2=x, y1=frame.top, y2=frame.bottom)
        yield element("text", label, class_="tick", x=x, y=frame.bottom + 16, text_anchor="middle")
    if plane.across.caption:
        yield element(
            "text", plane.across.caption, class_="muted", x=frame.left + frame.width,
            y=frame.bottom + 36, text_anchor="end",
        )  # fmt: skip


def _row(
    plane: Plane, top: float, row: MarkRow, kinds: Sequence[MarkKind], *, names_above: bool
) -> Iterator[Markup]:
    frame = plane.frame
    y = top + (28.0 if names_above else _WIDE_ROW / 2)
    if names_above:
        name, x, anchor = shortened(row.name, _NARROW_LETTERS), frame.left, "start"
    else:
        name, x, anchor = shortened(row.name, _WIDE_LETTERS), frame.left - 10, "end"
    yield element("text", name, x=x, y=y - 12 if names_above else y + 4, text_anchor=anchor)
    yield element("line", class_="grid", x1=frame.left, x2=frame.left + frame.width, y1=y, y2=y)
    if row.span is not None:
        least, most = map(plane.x, row.span)
        yield element("line", class_="span", x1=least, x2=most, y1=y, y2=y)
    for kind, value in zip(kinds, row.values, strict=True):
        if value is not None:
            told = joined((row.name, f"{kind.name}: {plane.across.write(value)}"), "\n")
            yield element(
                "circle", class_=f"dot-mark line {kind.colour}{' hollow' * kind.hollow}",
                cx=plane.x(value), cy=y, r=_HOLLOW if kind.hollow else _RADIUS, data_tip=told,
            )  # fmt: skip
