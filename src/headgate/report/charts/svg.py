"""A chart as SVG, its colours, and the style sheets that come with the package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from pkgutil import get_data

import msgspec

from headgate.model.run_report import SiteReport
from headgate.report.markup import Markup, element, joined, raw

__all__ = [
    "HATCH",
    "Chart",
    "colour_class",
    "for_any_screen",
    "own_file",
    "site_numbers",
    "stacked",
    "svg_file",
]

_FONTS = "DejaVu Sans, Helvetica, Arial, sans-serif"
_MARGIN = 12.0
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
_LIGHT = re.compile(r"(?<![\w-])(--[\w-]++):\s*+([^;]++)(?:;|\Z)")

HATCH = element(
    "defs",
    element(
        "pattern",
        element("rect", width=6, height=6, class_="late-ground"),
        element("path", d="M0,0V6", class_="late-stroke"),
        id="late",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    ),
)
"""Pattern for time after a deadline; defined once in every page and file."""


class Chart(msgspec.Struct, frozen=True):
    """A chart as SVG, in a page or a separate file.

    For a page, every chart is drawn for a wide and for a narrow screen, and the style sheet shows
    the one that fits: text that shrinks with its chart would be unreadable on a phone.
    """

    title: str
    """For screen readers."""
    width: float
    height: float
    content: Markup
    kind: str = ""
    """Classes of the style sheet."""

    def markup(self, screen: str = "") -> Markup:
        """For a page; ``screen``: "wide" or "narrow" if there is one for each."""
        return element(
            "svg",
            element("title", self.title),
            self.content,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}",
            class_=" ".join(filter(None, ("chart", self.kind, screen))),
            role="img",
        )


def for_any_screen(wide: Chart, narrow: Chart) -> Markup:
    return joined((wide.markup("wide"), narrow.markup("narrow")))


def stacked(title: str, charts: Iterable[Chart]) -> Chart:
    """Several charts in one, from top to bottom."""
    parts = list(charts)
    tops = accumulate((part.height for part in parts), initial=0.0)
    content = joined(
        element("g", part.content, transform=f"translate(0 {top:g})", class_=part.kind or None)
        for part, top in zip(parts, tops, strict=False)
    )
    width = max(part.width for part in parts)
    return Chart(title, width, sum(part.height for part in parts), content)


def svg_file(chart: Chart) -> str:
    """A separate file, with fixed colours for a light background: other programs than browsers do
    not support CSS variables."""
    width, height = chart.width + 2 * _MARGIN, chart.height + 2 * _MARGIN
    picture = element(
        "svg",
        element("title", chart.title),
        element("style", raw(_light_style())),
        HATCH,
        element("rect", width=width, height=height, class_="paper"),
        element("g", chart.content, transform=f"translate({_MARGIN:g} {_MARGIN:g})"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        class_="chart",
        font_family=_FONTS,
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{picture}\n'


@cache
def _light_style() -> str:
    light = dict(_LIGHT.findall(own_file("colours.css").partition("@media")[0]))
    return _VARIABLE.sub(lambda found: light[found[1]].strip(), own_file("charts.css"))


# One colour for each site, the same in every chart and table of a page.
#
# The style sheet has the colours, for light and for dark; here is only their number. None of them
# is the colour of lateness.


COLOURS = 10


def site_numbers(sites: Sequence[SiteReport]) -> dict[str, int]:
    """Each site's number, in order of their starts, so that neighbours differ in colour."""
    never = float("inf")
    ordered = sorted(
        sites,
        key=lambda site: (
            never if site.started is None else site.started,
            never if site.planned_start is None else site.planned_start,
            site.name,
        ),
    )
    return {site.name: number for number, site in enumerate(ordered)}


def colour_class(number: int | None) -> str:
    return "c-other" if number is None else f"c{number % COLOURS}"


@cache
def own_file(name: str) -> str:
    """The style sheets and the script that come with the package."""
    data = get_data("headgate.report", name)
    assert data is not None
    return data.decode()
