"""A keeper over all its time, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from headgate.features.keep.status import (
    CHECK_BINS,
    Checked,
    Fresh,
    KeepCounts,
    KeepHour,
    KeepStatus,
)
from headgate.features.keep.view.words import KeepWords
from headgate.model.units import format_duration, format_size
from headgate.report.charts.bars import Pile, stacked_bars
from headgate.report.charts.line_chart import Axis, CalendarAxis, ChartLine, line_chart
from headgate.report.html_page import document, section, table
from headgate.report.markup import Markup, element, joined
from headgate.report.phrases import plural

__all__ = ["keep_page"]

_LATELY_HOURS = 7 * 24


def keep_page(
    status: KeepStatus, hours: Sequence[KeepHour], collection: str, now: float, *, alive: bool
) -> str:
    """``hours``: past hours and the current one, oldest first."""
    words = KeepWords(status, now, alive=alive)
    title = f"How fresh {collection} is"
    parts = [
        element("p", "Headgate keeper", class_="kicker"),
        element("h1", title),
        element("p", f"{words.headline}. {words.at_work}.", class_="amounts"),
        element("div", *_tiles(status), class_="tiles"),
        section("Trouble", _troubles(status, now)),
        element("div", *_charts(status, hours), class_="pairs"),
        section("In words", _words(words)),
    ]
    return document(title, joined(parts))


def _charts(status: KeepStatus, hours: Sequence[KeepHour]) -> Iterator[Markup]:
    yield section(
        "Freshness",
        freshness_chart(hours),
        "Estimated from how often each page was seen to change; checked below.",
        otherwise="There is a chart once the keeper has run for two hours.",
    )
    yield section("Age", age_chart(hours), "For how long pages are out of date; 0 for fresh ones.")
    yield section(
        "Are the estimates right?",
        checked_chart(status.checked),
        "Looks of the last 30 days, by how likely a change was said to be: of pages that were said"
        " to have changed with 30 %, 30 % should have.",
        otherwise="There is a chart once some pages were looked at a second time.",
    )
    yield section("Expected and found, by day", checks_by_day_chart(hours))
    lately = hours[-_LATELY_HOURS:]
    yield section("Bytes by hour, last seven days", bytes_chart(lately, HOUR))
    if len(hours) > _LATELY_HOURS:
        yield section("Bytes by day", bytes_chart(hours, DAY))
    yield section("Changes per day", changes_chart(hours))
    yield section(
        "Promises per day", promises_chart(hours), "Each time a site's pages were all looked at."
    )


def _tiles(status: KeepStatus) -> Iterator[Markup]:
    fresh = status.fresh
    if fresh is not None:
        note = f"estimated; {fresh.weighted:.1%} by importance"
        yield _tile("Fresh", f"{fresh.estimated:.1%}", note)
        yield _tile(
            "Out of date for",
            format_duration(fresh.mean_age_seconds),
            f"on average; 95 % less than {format_duration(fresh.p95_age_seconds)}",
        )
    day = status.last_day
    looks = f"of {plural(day.asked, 'look')}; {day.new:,} new, {day.gone:,} gone"
    yield _tile("Changed, last day", f"{day.changed:,}", looks)
    spared = f"{format_size(day.saved_bytes)} spared by asking whether pages changed"
    yield _tile("On the line, last day", format_size(day.wire_bytes), spared)
    promises = status.promises
    if promises.kept or promises.late:
        kind = "broken" if promises.late else "kept"
        note = f"in time; {len(promises.at_risk):,} at risk"
        yield _tile(
            "Promises", f"{promises.kept:,} of {promises.kept + promises.late:,}", note, kind
        )


def _tile(what: str, figure: str, note: str, kind: str = "") -> Markup:
    return element(
        "div",
        element("h2", what),
        element("p", figure, class_="figure"),
        element("p", note, class_="note"),
        class_=f"tile {kind}".rstrip(),
    )


def _troubles(status: KeepStatus, now: float) -> Markup | None:
    if not status.troubles:
        return None
    rows = [
        element(
            "tr",
            element("td", trouble.site or "all"),
            element("td", trouble.what, class_="words"),
            element("td", format_duration(max(now - trouble.since, 0.0))),
            element("td", trouble.remedy, class_="words"),
        )
        for trouble in status.troubles
    ]
    return table(("site", "what", "for", "what to do"), rows)


def _words(words: KeepWords) -> Markup:
    return element(
        "ul", *(element("li", f"{heading}: {said}.") for heading, said in words.sentences())
    )


# The charts of a keeper's page, from its hours.


HOUR, DAY = 3_600.0, 86_400.0
_UNITS = ((DAY, "d"), (HOUR, "h"), (60.0, "min"), (1.0, "s"))
_MOST_SITES = 9
"""Other sites share one colour."""
_ENOUGH_LOOKS = 10
"""Least number of looks for a meaningful share."""
_LEAST_FLOOR = 0.1
_MOST_POINTS = 600


def freshness_chart(hours: Sequence[KeepHour]) -> Markup | None:
    """Estimated shares of fresh pages."""
    known = _estimates(hours)
    if len(known) < 2:
        return None
    calendar = CalendarAxis(known[0][0], known[-1][0])
    lines = [
        ChartLine("all pages", [(calendar.place(at), f.estimated) for at, f in known], "c0"),
        ChartLine("by importance", [(calendar.place(at), f.weighted) for at, f in known], "c1"),
    ]
    lowest = min(y for line in lines for _, y in line.points)
    floor = max(int((lowest - 1e-9) / _LEAST_FLOOR) * _LEAST_FLOOR, 0.0)
    up = Axis(floor, 1.0, "as their servers have them", "{:.0%}".format)
    return line_chart("Freshness over time, estimated", calendar.axis(), up, lines)


def age_chart(hours: Sequence[KeepHour]) -> Markup | None:
    """For how long pages are out of date."""
    known = _estimates(hours)
    if len(known) < 2:
        return None
    calendar = CalendarAxis(known[0][0], known[-1][0])
    highest = max(fresh.p95_age_seconds for _, fresh in known)
    unit, name = next(((s, n) for s, n in _UNITS if highest >= 2 * s), _UNITS[-1])
    mean = [(calendar.place(at), fresh.mean_age_seconds / unit) for at, fresh in known]
    most = [(calendar.place(at), fresh.p95_age_seconds / unit) for at, fresh in known]
    up = Axis(0.0, (highest / unit or 1.0) * 1.08, "out of date for", lambda x: f"{x:g} {name}")
    lines = [
        ChartLine("on average", mean, "c0"),
        ChartLine("95 % of the pages at most", most, "c9"),
    ]
    return line_chart("Age over time, estimated", calendar.axis(), up, lines)


def _estimates(hours: Sequence[KeepHour]) -> list[tuple[float, Fresh]]:
    """At the ends of hours; thinned out if there are very many."""
    known = [(hour.start + HOUR, hour.fresh) for hour in hours if hour.fresh is not None]
    return known[:: -(-len(known) // _MOST_POINTS) or 1]


def checked_chart(checked: Checked) -> Markup | None:
    """Predicted against actual changes: equal on the diagonal."""
    points = [
        (checked.said[place] / checked.looks[place], checked.found[place] / checked.looks[place])
        for place in range(CHECK_BINS)
        if checked.looks[place] >= _ENOUGH_LOOKS
    ]
    if not points:
        return None
    share = "{:.0%}".format
    return line_chart(
        "Changes expected and found",
        Axis(0.0, 1.0, "said to have changed", share),
        Axis(0.0, 1.0, "found changed", share),
        [
            ChartLine("as it should be", [(0.0, 0.0), (1.0, 1.0)], "c9", "dashed"),
            ChartLine("found", points, "c0", joined=False),
        ],
    )


def checks_by_day_chart(hours: Sequence[KeepHour]) -> Markup | None:
    """The same over time."""
    days: dict[float, Checked] = defaultdict(Checked)
    for hour in hours:
        day = hour.start // DAY * DAY
        days[day] = days[day].plus(hour.checked)
    known = [(day, checked) for day, checked in sorted(days.items()) if _enough(checked)]
    if len(known) < 2:
        return None
    calendar = CalendarAxis(known[0][0], known[-1][0], by_day=True)
    expected = [(calendar.place(day), _share(checked.said, checked)) for day, checked in known]
    found = [(calendar.place(day), _share(checked.found, checked)) for day, checked in known]
    highest = max(y for _, y in (*expected, *found)) or 1.0
    up = Axis(0.0, min(highest * 1.15, 1.0), "looks that find a change", "{:.0%}".format)
    lines = [ChartLine("expected", expected, "c9", "dashed"), ChartLine("found", found, "c0")]
    return line_chart("Changes expected and found, by day", calendar.axis(), up, lines)


def bytes_chart(hours: Sequence[KeepHour], length: float) -> Markup | None:
    """Bytes on the line by site, in bars of ``length`` seconds."""
    totals: Counter[str] = Counter()
    for hour in hours:
        totals.update(hour.bytes_by_site)
    named = [site for site, _ in totals.most_common() if site][:_MOST_SITES]
    others = set(totals) - set(named)
    kinds = [(site, f"c{number}") for number, site in enumerate(named)]
    kinds += [("others", "c-other")] if others else []

    def parts(of_bar: Sequence[KeepHour]) -> list[float]:
        amounts: Counter[str] = Counter()
        for hour in of_bar:
            amounts.update(hour.bytes_by_site)
        rest = [float(sum(amounts[site] for site in others))] if others else []
        return [*(float(amounts[site]) for site in named), *rest]

    return _bars("Bytes by site", hours, length=length, kinds=kinds, parts=parts, write=format_size)


def changes_chart(hours: Sequence[KeepHour]) -> Markup | None:
    """Per day."""
    kinds = [("changed", "c0"), ("new", "c2"), ("gone", "c9")]

    def parts(of_bar: Sequence[KeepHour]) -> list[float]:
        total = _sum(hour.counts for hour in of_bar)
        return [float(total.changed), float(total.new), float(total.gone)]

    return _bars(
        "Changes per day", hours, length=DAY, kinds=kinds, parts=parts, write="{:,.0f}".format
    )


def promises_chart(hours: Sequence[KeepHour]) -> Markup | None:
    """Per day."""
    if not any(hour.kept or hour.late for hour in hours):
        return None

    def parts(of_bar: Sequence[KeepHour]) -> list[float]:
        return [float(sum(h.kept for h in of_bar)), float(sum(h.late for h in of_bar))]

    kinds = [("kept", "c2"), ("late", "late")]
    return _bars(
        "Promises per day", hours, length=DAY, kinds=kinds, parts=parts, write="{:,.0f}".format
    )


def _bars(
    title: str,
    hours: Sequence[KeepHour],
    length: float,
    kinds: Sequence[tuple[str, str]],
    parts: Callable[[Sequence[KeepHour]], Sequence[float]],
    write: Callable[[float], str],
) -> Markup | None:
    """None if all values are 0."""
    bars: dict[float, list[KeepHour]] = defaultdict(list)
    for hour in hours:
        bars[hour.start // length * length].append(hour)
    amounts = {start: parts(of_bar) for start, of_bar in sorted(bars.items())}
    if not any(map(any, amounts.values())):
        return None
    calendar = CalendarAxis(min(amounts), max(amounts) + length, by_day=length >= DAY)
    piles = [
        Pile(calendar.place(start), calendar.place(start + length), found, _when(start, length))
        for start, found in amounts.items()
    ]
    return stacked_bars(title, calendar.axis(), kinds, piles, write)


def _when(start: float, length: float) -> str:
    moment = datetime.fromtimestamp(start, UTC)
    return f"{moment:%Y-%m-%d}" if length >= DAY else f"{moment:%Y-%m-%d %H:%M} UTC"


def _sum(counts: Iterable[KeepCounts]) -> KeepCounts:
    total = KeepCounts()
    for one in counts:
        total = total.plus(one)
    return total


def _enough(checked: Checked) -> bool:
    return sum(checked.looks) >= _ENOUGH_LOOKS


def _share(amounts: Sequence[float], checked: Checked) -> float:
    return sum(amounts) / sum(checked.looks)
