"""The paper's three figures, drawn from the first web of a reproduction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.markup import Markup
from headgate_lab.papers.nakahira2008.reproduction import CUT, WebResult

__all__ = ["FIGURES", "figure_chart"]

_PAGES, _HOSTS, _OURS, _PAPER = "c9", "c0", "c2", "c4"
_SAID = [(0.5, 0.8), (0.8, 1.0)]
"""(load, share): 80 % of the hosts at "nearly half" of the load, none lost at 80 % of it."""


def figure_chart(number: int, result: WebResult) -> Markup:
    """The same text for the same numbers."""
    title, draw = FIGURES[number]
    return draw(f"Fig. {number}: {title}", result)


def _pages_and_hosts(title: str, result: WebResult) -> Markup:
    pages, hosts = (list(accumulate(counts)) for counts in (result.pages, result.hosts))
    return line_chart(
        title,
        Axis(0.0, len(pages) - 1, "depth", whole=True),
        Axis(0.0, max(*pages, *hosts), "found down to this depth"),
        [
            ChartLine("pages", list(enumerate(pages)), _PAGES, marked=True),
            ChartLine("external hosts", list(enumerate(hosts)), _HOSTS, marked=True),
        ],
    )


def _trees(title: str, result: WebResult) -> Markup:
    return line_chart(
        title,
        Axis(-0.5, len(result.trees) - 0.5, "greatest depth of a site tree", whole=True),
        Axis.of_powers(result.trees, "site trees"),
        [ChartLine("", list(enumerate(result.trees)), _HOSTS, bars=True)],
    )


def _share_against_load(title: str, result: WebResult) -> Markup:
    cut = list(zip(result.load_by_depth, result.share_by_depth, strict=True))
    return line_chart(
        title,
        Axis(0.0, 1.0, "load: part of all pages", "{:.0%}".format),
        Axis(0.0, 1.0, "part of all external hosts", "{:.0%}".format),
        [
            ChartLine(f"cut at a depth; filled: at depth {CUT}", cut, _HOSTS, marked=True),
            ChartLine("", [cut[CUT]], _HOSTS, "filled", joined=False),
            ChartLine("most promising first", result.policy_curve, _OURS, "ours"),
            ChartLine("said in the paper", _SAID, _PAPER, joined=False),
        ],
    )


FIGURES: dict[int, tuple[str, Callable[[str, WebResult], Markup]]] = {
    1: ("Pages and external hosts down to each depth", _pages_and_hosts),
    2: ("Site trees by their greatest depth", _trees),
    3: ("External hosts found against load", _share_against_load),
}
