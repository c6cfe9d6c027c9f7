"""A plan as a Gantt chart of characters.

One row per site, one cell per interval. Each cell has a kind beside its character, for colours; the
characters alone say the same:

    ████▌   crawled, on time        ▒▒▒▒  crawled after its deadline
    ····    waits between two parts   │   its deadline (›: beyond the right edge)

The last row shows how much of the line is used, in eighths of the highest rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from headgate.model.plan import Plan, PlannedSite, RateSegment
from headgate.report.charts.axes import TimeScale, ticks
from headgate.report.charts.svg import colour_class
from headgate.report.markup import Markup, element, shortened

__all__ = [
    "MOST_ROWS",
    "CellKind",
    "Gantt",
    "Row",
    "cell_overlaps",
    "chart_span",
    "deadline_mark",
    "draw",
    "remark",
    "row_head",
    "worth_showing",
]

MOST_ROWS = 40
_FEWEST_CELLS = 20
_LONGEST_NAME = 24
_CELLS_PER_TICK = 12
_FAR_DEADLINE = 1.3
"""Deadlines later than this many makespans do not stretch the chart."""

_FROM_LEFT = " ▏▎▍▌▋▊▉█"
_FROM_BELOW = " ▁▂▃▄▅▆▇█"
_RIGHT_HALF, _LATE, _WAITS, _DEADLINE, _BEYOND = "▐", "▒", "·", "│", "›"


class CellKind(Enum):
    """What a cell stands for."""

    EMPTY = "empty"
    ON_TIME = "on time"
    LATE = "late"
    WAITS = "waits"
    DEADLINE = "deadline"
    LINE = "line"


Cells: TypeAlias = tuple[tuple[str, CellKind], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A label and its cells."""

    label: str
    cells: Cells


@dataclass(frozen=True, slots=True)
class Gantt:
    """The chart from top to bottom."""

    rows: tuple[Row, ...]
    line: Row
    axis: str
    left_out: int
    """Sites without a row."""
    label_width: int


def draw(plan: Plan, width: int) -> Gantt:
    """The chart of a plan with at least one site, in ``width`` columns."""
    shown = worth_showing(plan.sites, MOST_ROWS)
    label_width = min(max(*(len(site.name) for site in shown), len("line")), _LONGEST_NAME)
    cells = max(width - label_width - 1, _FEWEST_CELLS)
    span = chart_span(plan)
    scale = cells / span
    return Gantt(
        rows=tuple(Row(_cut(site.name), _site_cells(site, scale, cells)) for site in shown),
        line=Row("line", _line_cells(plan, scale, cells)),
        axis=_axis(span, cells),
        left_out=len(plan.sites) - len(shown),
        label_width=label_width,
    )


def worth_showing(sites: Sequence[PlannedSite], most: int) -> list[PlannedSite]:
    """At most ``most`` sites: the latest first, then those stopped with most left; ordered by
    start."""
    by_trouble = sorted(sites, key=lambda s: (-s.late, -s.left_bytes, s.start, s.end))
    chosen = by_trouble[:most]
    return sorted(chosen, key=lambda site: (site.start, site.end))


def chart_span(plan: Plan) -> float:
    """Seconds from the chart's left edge to its right."""
    makespan = plan.makespan
    deadlines = [site.deadline for site in plan.sites if site.deadline is not None]
    near = [deadline for deadline in deadlines if deadline <= _FAR_DEADLINE * makespan]
    return max(makespan, *near, 1e-9) * 1.01


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _site_cells(site: PlannedSite, scale: float, count: int) -> Cells:
    cells = [(" ", CellKind.EMPTY)] * count
    first, last = int(site.start * scale), min(int(site.end * scale), count - 1)
    if site.segments:
        cells[first : last + 1] = [(_WAITS, CellKind.WAITS)] * (last + 1 - first)
    late_from = site.deadline * scale - 0.5 if site.deadline is not None and site.late else count
    for index, used in enumerate(_time_used(site.segments, scale, count)):
        if used > 0:
            begins_inside = index == first < last and used < 1
            cells[index] = _bar(used, begins_inside=begins_inside, late=index > late_from)
    if site.deadline is not None:
        _mark_deadline(cells, int(min(site.deadline * scale, count)), late=site.late > 0)
    return tuple(cells)


def _bar(used: float, *, begins_inside: bool, late: bool) -> tuple[str, CellKind]:
    if late:
        return _LATE, CellKind.LATE
    if begins_inside:
        return (_FROM_LEFT[8] if used >= 0.75 else _RIGHT_HALF), CellKind.ON_TIME
    return _FROM_LEFT[max(1, min(8, round(8 * used)))], CellKind.ON_TIME


def _mark_deadline(cells: list[tuple[str, CellKind]], at: int, *, late: bool) -> None:
    """On its own cell where that is free, or cuts a late bar; else on the one after the bar."""
    if at >= len(cells):
        if cells[-1][1] is CellKind.EMPTY:
            cells[-1] = (_BEYOND, CellKind.DEADLINE)
        return
    follows = at + 1 < len(cells) and cells[at + 1][1] is not CellKind.EMPTY
    if cells[at][1] is CellKind.EMPTY or (late and follows):
        cells[at] = (_DEADLINE, CellKind.DEADLINE)
    elif not late and not follows and at + 1 < len(cells):
        cells[at + 1] = (_DEADLINE, CellKind.DEADLINE)


def _line_cells(plan: Plan, scale: float, count: int) -> Cells:
    """The bytes that pass in each cell against what would pass at the highest rate."""
    amounts = [0.0] * count
    for site in plan.sites:
        for segment in site.segments:
            for index, part in cell_overlaps(segment, scale, count):
                amounts[index] += part * segment.rate
    highest = max([piece.rate for piece in plan.budget_pieces], default=0.0) or 1.0
    return tuple(
        (_FROM_BELOW[min(8, round(8 * amount / highest))], CellKind.LINE) for amount in amounts
    )


def _time_used(segments: Iterable[RateSegment], scale: float, count: int) -> list[float]:
    """The part of each cell's time in which there is a rate."""
    used = [0.0] * count
    for segment in segments:
        for index, part in cell_overlaps(segment, scale, count):
            used[index] += part
    return used


def cell_overlaps(segment: RateSegment, scale: float, count: int) -> Iterator[tuple[int, float]]:
    """The cells a segment lies in, and how much of each it takes."""
    start, end = segment.start * scale, segment.end * scale
    for index in range(int(start), min(int(end) + 1, count)):
        yield index, min(end, index + 1) - max(start, index)


def _axis(span: float, cells: int) -> str:
    """Labels that begin at their time."""
    axis = ""
    for moment, label in ticks(span, max(cells // _CELLS_PER_TICK, 1)):
        column = int(moment / span * cells)
        if column + len(label) + 1 <= cells:
            axis = f"{axis:<{column}}╵{label}"
    return axis


# Common parts of rows in Gantt charts: name, colour, deadline, a remark.


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
