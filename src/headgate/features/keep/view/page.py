"""A keeper over all its time, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headgate.features.keep.status import KeepHour, KeepStatus
from headgate.features.keep.view.charts import (
    DAY,
    HOUR,
    age_chart,
    bytes_chart,
    changes_chart,
    checked_chart,
    checks_by_day_chart,
    freshness_chart,
    promises_chart,
)
from headgate.features.keep.view.words import KeepWords
from headgate.model.units import format_duration, format_size
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
