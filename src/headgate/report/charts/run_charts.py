"""Charts of a run: when each site was crawled, and the rates by which it was."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

import msgspec

from headgate.model.plan import RateSegment
from headgate.model.run_report import RunReport, SiteReport, TimelinePoint
from headgate.model.units import format_duration, format_rate
from headgate.report.charts.axes import RateScale, TimeScale
from headgate.report.charts.svg import Chart, colour_class
from headgate.report.charts.text_gantt import deadline_mark, remark, row_head
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.phrases import duration_at_least
from headgate.report.words import late_by

__all__ = ["MOST_ROWS", "TimelineBins", "gantt_chart", "rate_chart"]


# The Gantt chart of a run: for each site the plan as an outline, and the crawl as a bar below.
#
#     ┌──────────────┐        planned
#     ██████████████████▒▒▒   crawled; what came after the deadline ┃ is hatched and says how late
#
# With very many sites, those that are late or unfinished come before the others.


MOST_ROWS = 120
_TOP, _BELOW = 6.0, 26.0
_LONGEST_TOLD = 80
_THINNEST_BAR = 1.5


class _Row(msgspec.Struct, frozen=True):
    """Measures of a row: the plan's outline above, the bar below it."""

    height: float
    plan_top: float
    plan_height: float
    bar_top: float
    bar_height: float

    @classmethod
    def fitting(cls, sites: int) -> _Row:
        if sites <= 30:
            return cls(28.0, 4.0, 6.0, 11.0, 12.0)
        return cls(15.0, 2.0, 3.0, 5.5, 7.0)


def gantt_chart(report: RunReport, scale: TimeScale, order: Mapping[str, int]) -> Chart:
    sites = _worth_showing(report, order)
    row = _Row.fitting(len(sites))
    bottom = _TOP + row.height * len(sites)
    return Chart(
        "When each site was crawled, planned and real, and its deadline",
        scale.outer,
        bottom + _BELOW,
        joined(
            (
                scale.grid(_TOP, bottom),
                *(
                    _site_row(
                        site,
                        report.seconds,
                        scale=scale,
                        row=row,
                        number=order[site.name],
                        place=place,
                    )
                    for place, site in enumerate(sites)
                ),
            )
        ),
        "gantt" if row.height > 20 else "gantt small",
    )


def _worth_showing(report: RunReport, order: Mapping[str, int]) -> list[SiteReport]:
    chosen = sorted(
        report.sites,
        key=lambda site: (-late_by(site, report.seconds), site.state == "done", order[site.name]),
    )[:MOST_ROWS]
    return sorted(chosen, key=lambda site: order[site.name])


def _site_row(
    site: SiteReport, now: float, scale: TimeScale, row: _Row, number: int, place: int
) -> Markup:
    return element(
        "g",
        *row_head(site.name, number, scale, row.height),
        *_planned(site, scale, row),
        *_real(site, now, scale, row, number),
        *_deadline(site, now, scale, row),
        transform=f"translate(0 {_TOP + row.height * place:g})",
        data_site=number,
        data_tip=_words(site, now),
    )


def _planned(site: SiteReport, scale: TimeScale, row: _Row) -> Iterator[Markup]:
    for start, end in _stretches(site):
        left, right = scale.x(start), scale.x(end)
        if left < scale.right:
            yield element(
                "rect",
                class_="planned",
                x=left,
                y=row.plan_top,
                width=max(right - left, _THINNEST_BAR),
                height=row.plan_height,
            )


def _stretches(site: SiteReport) -> list[tuple[float, float]]:
    """Planned intervals of a site; adjacent ones are merged."""
    if site.planned_start is None or site.planned_end is None:
        return []
    segments: Sequence[RateSegment] = site.planned_segments or (
        RateSegment(site.planned_start, site.planned_end, 1.0),
    )
    stretches: list[tuple[float, float]] = []
    for segment in segments:
        if segment.rate <= 0:
            continue
        if stretches and segment.start <= stretches[-1][1] * (1 + 1e-9) + 1e-9:
            stretches[-1] = (stretches[-1][0], max(segment.end, stretches[-1][1]))
        else:
            stretches.append((segment.start, segment.end))
    return stretches


def _real(
    site: SiteReport, now: float, scale: TimeScale, row: _Row, number: int
) -> Iterator[Markup]:
    if site.started is None:
        return
    end = now if site.finished is None else site.finished
    turn = end if site.deadline is None or site.met is not False else site.deadline
    colour = f"real {colour_class(number)}"
    for start, until, kind in ((site.started, turn, colour), (turn, end, "real late")):
        begin = max(start, site.started)
        if until > begin or (kind == colour and until == begin):
            left, right = scale.x(begin), scale.x(until)
            yield element(
                "rect",
                class_=kind,
                x=left,
                y=row.bar_top,
                width=max(right - left, _THINNEST_BAR),
                height=row.bar_height,
            )


def _deadline(site: SiteReport, now: float, scale: TimeScale, row: _Row) -> Iterator[Markup]:
    """Its mark, and a remark beside the bar."""
    ends = [scale.x(end) for end in (site.finished, site.planned_end, site.deadline) if end]
    if site.started is not None and site.finished is None:
        ends.append(scale.x(now))
    beyond = site.deadline is not None and site.deadline > scale.span
    if site.deadline is not None and not beyond:
        yield deadline_mark(scale.x(site.deadline), row.height)
    words, kind = _remark(site, now, beyond=beyond)
    if words:
        place = scale.right if beyond else max(ends, default=scale.left)
        yield remark(words, kind, place, row.height)


def _remark(site: SiteReport, now: float, *, beyond: bool) -> tuple[str, str]:
    late = late_by(site, now)
    if late:
        return f"{duration_at_least(late)} late", "late"
    if site.met is False:
        return site.state, "late"
    if site.state == "waiting":
        return "not started", "muted"
    if site.state != "done":
        return site.state, "muted"
    if beyond and site.deadline is not None:
        return f"┃ {format_duration(site.deadline)} ▸", "muted"
    return "", ""


def _words(site: SiteReport, now: float) -> Markup:
    lines = [shortened(site.name, _LONGEST_TOLD)]
    if site.planned_start is not None and site.planned_end is not None:
        lines.append(f"planned {_from_to(site.planned_start, site.planned_end)}")
    if site.started is not None:
        ended = site.finished is not None
        lines.append(f"crawled {_from_to(site.started, site.finished if ended else None)}")
    if site.deadline is not None:
        lines.append(f"deadline {format_duration(site.deadline)}{_kept(site, now)}")
    if site.reason:
        lines.append(site.reason)
    return joined(lines, "&#10;")


def _from_to(start: float, end: float | None) -> str:
    return f"{format_duration(start)} – {'…' if end is None else format_duration(end)}"


def _kept(site: SiteReport, now: float) -> str:
    if site.met is None:
        return ", open"
    if site.met and site.finished is not None and site.deadline is not None:
        return f", met with {format_duration(site.deadline - site.finished)} to spare"
    late = late_by(site, now)
    return f", {duration_at_least(late)} late" if late else ", not met"


_FEW_SITES = 30
"""Up to so many bands have an edge."""
_MOST_NAMED = 8
_LONGEST_NAME = 60


def rate_chart(
    report: RunReport, scale: TimeScale, order: Mapping[str, int], *, told: bool = True
) -> Chart:
    """The chart of the line's use: rates of all sites, stacked, under the budget.

    Each site has the colour that it has in the Gantt chart below. Columns lie over the bands
    unseen; what one held is told where the pointer is. What the crawl could have had and left to
    others lies dashed upon the rest.

    The chart; ``order`` gives each site its number: its colour and its place in the pile.
    ``told``: what each column held is told under the pointer.
    """
    bins = TimelineBins.from_timeline(report.timeline)
    budget = _budget_pieces(report)
    rates = RateScale.holding(max(_pile(bins.total, bins.left_to_others)), budget)
    drawn = sorted(bins.rates, key=lambda name: order.get(name, len(order)))
    edges = "few" if len(drawn) <= _FEW_SITES else None
    content = (
        rates.grid(scale),
        scale.grid(rates.top, rates.bottom),
        element("g", *_bands(bins, drawn, scale, rates, order), class_=edges),
        *_left_to_others(bins, scale, rates),
        *(_columns(report, bins, drawn, scale, rates) if told else ()),
        *rates.budget_line(budget, report.seconds, scale),
    )
    title = "Rates of all sites over time, stacked, under the budget"
    return Chart(title, scale.outer, rates.outer, joined(content), "rates")


def _bands(
    bins: TimelineBins,
    drawn: Sequence[str],
    scale: TimeScale,
    rates: RateScale,
    order: Mapping[str, int],
) -> Iterator[Markup]:
    low = [0.0] * bins.count
    for name in drawn:
        high = _pile(low, bins.rates[name])
        path = "".join(_band_paths(low, high, bins.seconds, scale, rates))
        number = order.get(name)
        yield element("path", d=path, class_=f"band {colour_class(number)}", data_site=number)
        low = high


def _left_to_others(bins: TimelineBins, scale: TimeScale, rates: RateScale) -> Iterator[Markup]:
    low = bins.total
    path = "".join(_band_paths(low, _pile(low, bins.left_to_others), bins.seconds, scale, rates))
    if path:
        yield element("path", d=path, class_="left-to-others")


def _band_paths(
    low: Sequence[float], high: Sequence[float], seconds: float, scale: TimeScale, rates: RateScale
) -> Iterator[str]:
    """An outline for each run of columns in which there is something."""
    present = enumerate(over > under for under, over in zip(low, high, strict=True))
    for here, group in groupby(present, key=lambda pair: pair[1]):
        if here:
            columns = [column for column, _ in group]
            edges = [scale.x(column * seconds) for column in (*columns, columns[-1] + 1)]
            over = _stairs(edges, [rates.y(high[column]) for column in columns])
            under = _stairs(edges[::-1], [rates.y(low[column]) for column in columns[::-1]])
            yield f"M{edges[0]:.1f},{rates.y(low[columns[0]]):.1f}{over}{under}Z"


def _pile(low: Sequence[float], added: Sequence[float]) -> list[float]:
    return [under + more for under, more in zip(low, added, strict=True)]


def _stairs(edges: Sequence[float], heights: Sequence[float]) -> str:
    """A step line; equal neighbours are merged."""
    parts = [f"V{heights[0]:.1f}"]
    for edge, (here, following) in zip(edges[1:], pairwise((*heights, math.nan)), strict=False):
        if f"{here:.1f}" != f"{following:.1f}":
            parts.append(f"H{edge:.1f}")
            if not math.isnan(following):
                parts.append(f"V{following:.1f}")
    return "".join(parts)


def _columns(
    report: RunReport, bins: TimelineBins, drawn: Sequence[str], scale: TimeScale, rates: RateScale
) -> Iterator[Markup]:
    for column in range(bins.count):
        start = column * bins.seconds
        left, right = scale.x(start), scale.x(start + bins.seconds)
        yield element(
            "rect",
            class_="column",
            x=left,
            width=max(right - left, 0.1),
            y=rates.top,
            height=rates.height,
            data_tip=_column_words(report, bins, drawn, column),
        )


def _column_words(
    report: RunReport, bins: TimelineBins, drawn: Sequence[str], column: int
) -> Markup:
    """Several lines; the names in them are escaped one by one, so that the line breaks stay."""
    start = column * bins.seconds
    rates = [(bins.rates[name][column], name) for name in drawn]
    running = sorted(((rate, name) for rate, name in rates if rate > 0), reverse=True)
    total = sum(rate for rate, _ in running)
    budget = _budget_at(report, start)
    of_budget = "" if budget is None else f" of {format_rate(budget)}"
    lines = [
        f"{format_duration(start)} – {format_duration(start + bins.seconds)}",
        f"{format_rate(total)}{of_budget}",
    ]
    for rate, name in running[:_MOST_NAMED]:
        lines.append(f"{format_rate(rate)}  {shortened(name, _LONGEST_NAME)}")
    if bins.left_to_others[column] > 0:
        lines.append(f"{format_rate(bins.left_to_others[column])}  left to others")
    if len(running) > _MOST_NAMED:
        lines.append(f"and {len(running) - _MOST_NAMED:,} more sites")
    return joined(lines, "&#10;")


def _budget_pieces(report: RunReport) -> list[tuple[float, float | None]]:
    """(start, rate) in order; of simultaneous ones the last counts."""
    pieces = dict(report.budget_changes) or {0.0: report.budget}
    return sorted(pieces.items(), key=lambda piece: piece[0])


def _budget_at(report: RunReport, time: float) -> float | None:
    before = [rate for start, rate in _budget_pieces(report) if start <= time]
    return before[-1] if before else report.budget


_MOST_BINS = 250
_LENGTHS = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400),
)


class TimelineBins(msgspec.Struct, frozen=True):
    """A run's timeline in columns of equal length, so that a chart of any run has a bounded size.

    Points come when they come. The bytes of each are taken to have come evenly since the point
    before, and are dealt out to the columns in between; none is lost. A column is a second or more:
    that is what the budget is held to, and shorter ones would only show in which order packets
    came. Only a run that is shorter is one column of its own length.

    Mean rates by site and column; a site without any bytes has none.
    """

    seconds: float
    """Length of a column."""
    count: int
    rates: dict[str, list[float]]
    left_to_others: list[float]
    """What was not taken, making way: mean rates by column."""

    @classmethod
    def from_timeline(cls, timeline: Sequence[TimelinePoint]) -> TimelineBins:
        end = max((point.time for point in timeline), default=0.0)
        steps = _LENGTHS if end >= 1 or not end else (end,)
        seconds = next((step for step in steps if end / step <= _MOST_BINS), end / _MOST_BINS)
        count = max(math.ceil(end / seconds - 1e-6), 1)
        rates: dict[str, list[float]] = {}
        left = [0.0] * count
        begin = 0.0
        for point in timeline:
            parts = list(_overlaps(begin / seconds, point.time / seconds, count))
            for site, amount in point.bytes.items():
                row = rates.setdefault(site, [0.0] * count)
                for column, part in parts:
                    row[column] += amount * part / seconds
            for column, part in parts:
                left[column] += point.left_to_others * part / seconds
            begin = max(begin, point.time)
        return cls(float(seconds), count, rates, left)

    @property
    def total(self) -> list[float]:
        return [
            sum(column) for column in zip([0.0] * self.count, *self.rates.values(), strict=True)
        ]


def _overlaps(start: float, end: float, count: int) -> Iterator[tuple[int, float]]:
    """The columns between two moments, and the part of the time between that lies in each."""
    first = min(max(int(start), 0), count - 1)
    last = min(max(int(end), first), count - 1)
    if first == last or end <= start:
        yield first, 1.0
        return
    for column in range(first, last + 1):
        until = end if column == last else column + 1
        yield column, (until - max(start, column)) / (end - start)
