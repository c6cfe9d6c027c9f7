"""The Gantt chart of a run: for each site the plan as an outline, and the crawl as a bar below.

    ┌──────────────┐        planned
    ██████████████████▒▒▒   crawled; what came after the deadline ┃ is hatched and says how late

With very many sites, those that are late or unfinished come before the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from headgate.model.plan import RateSegment
from headgate.model.run_report import RunReport, SiteReport
from headgate.model.units import format_duration
from headgate.report.charts.axes import TimeScale
from headgate.report.charts.svg import Chart, colour_class
from headgate.report.charts.text_gantt import deadline_mark, remark, row_head
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.phrases import duration_at_least
from headgate.report.words import late_by

__all__ = ["MOST_ROWS", "gantt_chart"]

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
