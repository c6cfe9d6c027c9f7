"""The chart of what a focus brought in: relevant pages against pages fetched, a line per site.

Both axes are shares of the whole, so that sites of all sizes can be compared. Had the relevant
pages come evenly, the line would be the diagonal; the higher it lies above, the better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headgate.cli.markup import Markup, element, shortened
from headgate.cli.plan_words import plural
from headgate.cli.report_words import percent
from headgate.cli.site_colours import colour_class
from headgate.model.run_report import FocusReport, RunReport, SiteReport

__all__ = ["harvest_chart", "harvest_words", "scorer_troubles"]

_LEFT, _TOP, _WIDTH, _HEIGHT, _RIGHT, _BELOW = 160.0, 14.0, 420.0, 260.0, 520.0, 44.0
_MOST_LINES = 12
_LONGEST_NAME = 28
_LABEL_HEIGHT = 34.0
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def harvest_chart(report: RunReport, order: Mapping[str, int]) -> Markup | None:
    """None when no site has a curve."""
    drawn = sorted(_with_curves(report), key=lambda pair: order[pair[0].name])[:_MOST_LINES]
    if not drawn:
        return None
    return element(
        "svg",
        element("title", "Relevant pages against pages fetched"),
        *_axes(),
        element("path", d=_path([(0.0, 0.0), (1.0, 1.0)]), class_="even"),
        *(
            part
            for place, (site, focus) in enumerate(drawn)
            for part in _line(site, focus, place, order[site.name])
        ),
        viewBox=f"0 0 {_LEFT + _WIDTH + _RIGHT:.0f} {_TOP + _HEIGHT + _BELOW:.0f}",
        class_="chart harvest",
        role="img",
    )


def harvest_words(focus: FocusReport) -> str:
    """
    >>> harvest_words(FocusReport("topic", "food", 100, 20, ((40, 18), (100, 20))))
    '20 of 100 pages relevant; 80 % of them within the first 40 %'
    """
    words = f"{focus.relevant:,} of {plural(focus.pages, 'page')} relevant"
    wanted = 0.8 * focus.relevant
    needed = next((pages for pages, found in focus.curve if found >= wanted), 0)
    if not focus.relevant or not needed:
        return words
    return f"{words}; 80 % of them within the first {percent(needed / focus.pages)}"


def scorer_troubles(report: RunReport) -> Iterator[str]:
    """What was wrong with the scorers that users brought."""
    for site in report.sites:
        if site.focus is not None and site.focus.trouble:
            faults = f" ({plural(site.focus.faults, 'link')})" if site.focus.faults else ""
            yield f"{site.name}, scorer {site.focus.order} {site.focus.trouble}{faults}"


def _with_curves(report: RunReport) -> Iterator[tuple[SiteReport, FocusReport]]:
    for site in report.sites:
        if site.focus is not None and site.focus.curve and site.focus.relevant:
            yield site, site.focus


def _axes() -> Iterator[Markup]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    for share in _SHARES:
        x, y = _x(share), _y(share)
        yield element("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=bottom)
        yield element("line", class_="grid", x1=_LEFT, x2=right, y1=y, y2=y)
        label = f"{share:.0%}"
        yield element("text", label, class_="tick", x=x, y=bottom + 16, text_anchor="middle")
        yield element("text", label, class_="tick", x=_LEFT - 8, y=y + 4, text_anchor="end")
    below = bottom + 34
    yield element(
        "text", "of the pages fetched", class_="muted", x=right, y=below, text_anchor="end"
    )


def _line(site: SiteReport, focus: FocusReport, place: int, number: int) -> Iterator[Markup]:
    points = [(0.0, 0.0)]
    points += [(pages / focus.pages, found / focus.relevant) for pages, found in focus.curve]
    colour = colour_class(number)
    yield element("path", d=_path(points), class_=f"harvest-line {colour}", data_site=number)
    x, y = _LEFT + _WIDTH + 24, _TOP + 12 + place * _LABEL_HEIGHT
    name = shortened(site.name, _LONGEST_NAME)
    about = f" – {shortened(focus.focus, _LONGEST_NAME)}" if focus.focus else ""
    yield element("rect", class_=colour, x=x, y=y - 9, width=12.0, height=10.0)
    yield element("text", f"{name}{about} ({focus.order})", x=x + 18, y=y)
    yield element("text", harvest_words(focus), class_="muted", x=x + 18, y=y + 15)


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_x(share):.1f},{_y(found):.1f}" for share, found in points)


def _x(share: float) -> float:
    return _LEFT + _WIDTH * share


def _y(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share)
