"""What the report says of one queue over all sites."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.report.reports import simple_report

from headgate.model.score_order import ScoreOrderReport
from headgate.report.page import report_page
from headgate.report.words import order_words, policy_words

SHARES = ScoreOrderReport("shares", 6, begun=200, out_of_order=4, places=10, pages=150, relevant=60)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (
            SHARES,
            (
                "The best page of all sites went first (admission by shares): 60 of 150 pages"
                " relevant. 2 % were begun before a better one that did not fit, 0.05 places ahead"
                " on average."
            ),
        ),
        (
            ScoreOrderReport("shares", 6, begun=200, out_of_order=0, places=0, pages=0, relevant=0),
            (
                "The best page of all sites went first (admission by shares)."
                " None was begun before a better one."
            ),
        ),
    ],
)
def test_harvest_and_order(order: ScoreOrderReport, words: str) -> None:
    assert order_words(simple_report(order=order)) == [words]


def test_what_nothing_held_is_said() -> None:
    order = msgspec.structs.replace(SHARES, admission="estimates")
    made = simple_report(order=order, budget=100.0, peak_rate_1s=150.0)
    assert "its worst second carried 150 % of it." in order_words(made)[0]


def test_the_page_says_it_too_and_names_no_policy() -> None:
    made = simple_report(order=SHARES, policy="score")
    page = report_page(made)
    assert "60 of 150 pages relevant" in page
    assert "one queue by score over" in page
    assert policy_words(made) == []


def test_without_a_queue_nothing_is_said() -> None:
    assert order_words(simple_report()) == []
