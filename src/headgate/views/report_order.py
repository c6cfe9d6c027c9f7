"""The results of one queue over all sites: harvest, use of the line, and how far the order was
kept."""

from __future__ import annotations

from headgate.model.run_report import RunReport
from headgate.model.score_order import ScoreOrderReport
from headgate.views.plan_words import plural
from headgate.views.report_words import percent

__all__ = ["order_words"]


def order_words(report: RunReport) -> list[str]:
    """Two sentences; none where sites had rates."""
    order = report.order
    if order is None:
        return []
    harvest = ""
    if order.pages:
        harvest = f": {order.relevant:,} of {plural(order.pages, 'page')} relevant"
    words = f"The best page of all sites went first (admission by {order.admission}){harvest}."
    return [" ".join([words, _kept(order), *_unheld(report, order)])]


def _kept(order: ScoreOrderReport) -> str:
    if not order.out_of_order:
        return "None was begun before a better one."
    part, places = order.out_of_order / order.begun, order.places / order.begun
    return (
        f"{percent(part)} were begun before a better one that did not fit, {places:.2f} places"
        " ahead on average."
    )


def _unheld(report: RunReport, order: ScoreOrderReport) -> list[str]:
    if order.admission == "shares" or report.budget is None or report.peak_rate_1s is None:
        return []
    worst = percent(report.peak_rate_1s / report.budget)
    return [f"Nothing held the line to its limit: its worst second carried {worst} of it."]
