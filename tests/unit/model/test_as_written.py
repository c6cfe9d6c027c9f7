"""Values as people write them, in Python."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.model.budget import Budget, Objective
from headgate.model.errors import UserMistake
from headgate.model.site import OnDeadline, Site
from headgate.model.timetable import Timetable


def test_words_become_what_a_site_file_makes_of_them() -> None:
    words: dict[str, Any] = {
        "seeds": "http://a.example/",
        "include": ["/docs/"],
        "deadline": "30m",
        "on_deadline": "stop",
        "expect": "120 MB",
        "max_rate": "200 KB/s",
        "delay": "1s",
    }
    site = Site("docs", **words)
    assert site.seeds == ("http://a.example/",)
    assert site.include == ("/docs/",)
    assert (site.deadline, site.expect, site.max_rate, site.delay) == (1800.0, 120e6, 200e3, 1.0)
    assert site.on_deadline is OnDeadline.STOP


def test_a_budget_is_a_rate_a_timetable_and_a_quota() -> None:
    words: dict[str, Any] = {"bandwidth": "1 MB/s", "objective": "total-time", "quota": "2 GB/day"}
    budget = Budget(**words)
    assert budget.bandwidth == 1e6
    assert budget.objective is Objective.TOTAL_TIME
    assert str(budget.quota) == "2 GB per day"
    table: Any = ["Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s"]
    assert isinstance(Budget(table).bandwidth, Timetable)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"deadline": "soon"}, "site 'docs': deadline: 'soon' is not a duration"),
        ({"deadline": [3]}, "site 'docs': deadline: [3] is not a duration"),
        ({"seeds": 3}, "site 'docs': seeds: 3 is no text and no list of texts"),
        ({"seeds": [3]}, "site 'docs': seeds: [3] is no list of texts"),
        ({"on_deadline": "explode"}, "'explode' is none of 'go-on', 'stop'"),
        ({"max_bytes": "3 bananas"}, "'bananas' is not a unit of a size"),
    ],
)
def test_what_cannot_be_understood_is_refused(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserMistake) as caught:
        Site("docs", **words)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("rate", [None, "1 Mb/s", "0", "fast", []])
def test_a_bandwidth_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(UserMistake, match="Budget: bandwidth: "):
        Budget(rate)
