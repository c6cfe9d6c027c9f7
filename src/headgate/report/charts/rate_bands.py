"""The shapes in a plan's charts: rectangles over time.

Every rectangle is an interval of one site's crawl, either entirely on time or entirely late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from headgate.model.plan import Plan, PlannedSite, RateSegment
from headgate.report.charts.text_gantt import cell_overlaps

__all__ = ["Band", "gantt_bands", "stacked_bands", "summed_bands"]

_THINNEST, _THICKEST = 0.14, 0.84


class Band(msgspec.Struct, frozen=True):
    """A rectangle; ``row`` is the site's place in the chart, or -1 for all sites together."""

    row: int
    start: float
    end: float
    low: float
    high: float
    late: bool


def gantt_bands(sites: Sequence[PlannedSite], highest_rate: float) -> list[Band]:
    """A row for each site, its bar as thick as its rate is high."""
    bands = []
    for row, site in enumerate(sites):
        for part, late in _parts(site):
            share = part.rate / highest_rate
            half = (_THINNEST + (_THICKEST - _THINNEST) * share) / 2
            bands.append(
                Band(row, part.start, end=part.end, low=row - half, high=row + half, late=late)
            )
    return bands


def stacked_bands(sites: Sequence[PlannedSite]) -> list[Band]:
    """Rates stacked, the first site lowest."""
    parts = [(row, *part) for row, site in enumerate(sites) for part in _parts(site)]
    parts.sort(key=lambda part: part[1].start)
    moments = sorted({moment for _, part, _ in parts for moment in (part.start, part.end)})
    bands: list[Band] = []
    active: list[tuple[int, RateSegment, bool]] = []
    coming = iter([*parts, None])
    following = next(coming)
    for start, end in pairwise(moments):
        active = [entry for entry in active if entry[1].end > start]
        while following is not None and following[1].start <= start:
            active.append(following)
            following = next(coming)
        active.sort(key=lambda entry: entry[0])
        bands.extend(_pile(active, start, end))
    return _joined(bands)


def summed_bands(plan: Plan, span: float, count: int) -> list[Band]:
    """For very many sites: the mean of all rates in each of ``count`` intervals."""
    rates = {False: [0.0] * count, True: [0.0] * count}
    for site in plan.sites:
        for part, late in _parts(site):
            for index, share in cell_overlaps(part, count / span, count):
                rates[late][index] += share * part.rate
    width = span / count
    return [
        band
        for index in range(count)
        for band in (
            Band(-1, index * width, (index + 1) * width, 0.0, rates[False][index], late=False),
            Band(
                -1,
                index * width,
                (index + 1) * width,
                rates[False][index],
                rates[False][index] + rates[True][index],
                late=True,
            ),
        )
        if band.high > band.low
    ]


def _joined(bands: Sequence[Band]) -> list[Band]:
    """Rectangles that continue one another become one."""
    joined: dict[tuple[int, bool, float, float, float], Band] = {}
    for band in bands:
        continued = joined.pop((band.row, band.late, band.low, band.high, band.start), None)
        whole = band if continued is None else replace(continued, end=band.end)
        joined[band.row, band.late, band.low, band.high, band.end] = whole
    return list(joined.values())


def _pile(
    active: Sequence[tuple[int, RateSegment, bool]], start: float, end: float
) -> Iterator[Band]:
    low = 0.0
    for row, part, late in active:
        yield Band(row, start, end=end, low=low, high=low + part.rate, late=late)
        low += part.rate


def _parts(site: PlannedSite) -> Iterator[tuple[RateSegment, bool]]:
    """The segments, cut in two at the deadline of a late site, and whether each is late."""
    turn = site.deadline if site.deadline is not None and site.late else float("inf")
    for segment in site.segments:
        if segment.start < turn < segment.end:
            yield RateSegment(segment.start, turn, segment.rate), False
            yield RateSegment(turn, segment.end, segment.rate), True
        else:
            yield segment, segment.start >= turn
