"""One queue over all sites, asked for in a file and by options; what it cannot be had with."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.engine.chosen_policy import followed_policy
from headgate.features.crawl.request import CrawlRequest
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.score_order import ScoreOrder
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, BytesPerSecond

FILE = '[budget]\nbandwidth = "1 MB/s"\n{budget}\n[site.a]\nseeds = ["http://a.org/"]\n{site}\n'
RATE = BytesPerSecond(1e6)


def asked(budget: str = "", site: str = "", **options: Any) -> ScoreOrder | None:
    text = FILE.format(budget=budget, site=site)
    request = CrawlRequest(path="sites.toml", text=text, **options)
    return request.contents().budget.order


@pytest.mark.parametrize(
    ("budget", "options", "order"),
    [
        ("", {}, None),
        ('order = "score"', {}, ScoreOrder("shares", 6)),
        ('order = "score"\nadmission = "on-off"\nlook_ahead = 2', {}, ScoreOrder("on-off", 2)),
        ("", {"order": "score"}, ScoreOrder()),
        ('order = "score"\nlook_ahead = 2', {"admission": "estimates"}, ScoreOrder("estimates", 2)),
        ('order = "score"', {"order": "links-in"}, ScoreOrder()),
        ("", {"order": "links-in"}, None),
    ],
)
def test_file_and_options(budget: str, options: dict[str, Any], order: ScoreOrder | None) -> None:
    assert asked(budget, **options) == order


def test_scores_are_each_sites_own() -> None:
    options = {"order": "score", "focus": "food"}
    text = FILE.format(budget="", site="")
    request = CrawlRequest(path="sites.toml", text=text, **options)  # type: ignore[arg-type]
    assert request.contents().sites[0].url_order == "topic"


@pytest.mark.parametrize(
    ("budget", "site", "options", "words"),
    [
        ('order = "topic"', "", {}, "orders of a site's own pages belong under a [site.NAME]"),
        ("", 'order = "score"', {}, "of all sites together; write it under [budget]"),
        ('order = "score"\nadmission = "share"', "", {}, "did you mean 'shares'"),
        ('order = "score"\nlook_ahead = 0', "", {}, "1 or more"),
        ('admission = "shares"', "", {}, 'it needs order = "score" beside it'),
        ("", "", {"admission": "shares"}, "add --order score"),
    ],
)
def test_what_cannot_be_asked(budget: str, site: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        asked(budget, site, **options)
    assert words in str(mistake.value)


@pytest.mark.parametrize(
    ("budget", "sites", "processes", "words"),
    [
        (Budget(RATE, order=ScoreOrder()), [Site("a")], 1, "give it a focus, or an order"),
        (Budget(UNLIMITED, order=ScoreOrder()), [Site("a", focus="b")], 1, "add one, like"),
        (
            Budget(RATE, order=ScoreOrder(), policy="M-MAXT"),
            [Site("a", focus="b")],
            1,
            "leave out M-MAXT",
        ),
        (Budget(RATE, order=ScoreOrder()), [Site("a", focus="b")], 2, "leave out --processes 2"),
        (
            Budget(RATE, order=ScoreOrder()),
            [Site(f"{k}", focus="b") for k in range(1001)],
            1,
            "not 1,001; crawl them in parts",
        ),
        (
            Budget(RATE, order=ScoreOrder("on-off"), make_way=True),
            [Site("a", focus="b")],
            1,
            "it cannot make way",
        ),
    ],
)
def test_what_it_cannot_be_had_with(
    budget: Budget, sites: list[Site], processes: int, words: str
) -> None:
    with pytest.raises(UserMistake, match=words):
        followed_policy(budget, sites, processes)


def test_as_written_in_python() -> None:
    assert Budget("1 MB/s", order="score").order == ScoreOrder()  # type: ignore[arg-type]
    with pytest.raises(UserMistake, match="no order of all sites"):
        Budget("1 MB/s", order="topic")  # type: ignore[arg-type]
