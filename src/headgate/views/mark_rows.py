"""Named rows over one axis, each with a mark for every kind, to compare numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgate.views.chart import Chart, for_any_screen
from headgate.views.markup import Markup, element, joined, shortened
from headgate.views.plane import Axis, Frame, Line, Plane, legend

__all__ = ["MarkKind", "MarkRow", "mark_rows"]

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
    keys = [Line(kind.name, (), kind.colour + " hollow" * kind.hollow) for kind in kinds]
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
