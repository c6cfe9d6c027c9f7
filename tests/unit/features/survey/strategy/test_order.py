"""What the order by yield has learned from real documentation."""

from __future__ import annotations

from tests.unit.features.survey.strategy.playing import Answer, play

from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.politeness import PolitenessRules

_START = "http://a.ke/"


def _order(web: dict[str, Answer]) -> list[str]:
    surveyor = Surveyor(
        SurveyRules(pace=PolitenessRules(connections=1, failure_limit=1000), slots=1)
    )
    surveyor.start([_START])
    return [url.removeprefix(_START) for url in play(surveyor, web).fetched]


def _links(*paths: str) -> list[tuple[str, str]]:
    return [(f"{_START}{path}", "") for path in paths]


def _place(fetched: list[str], folder: str) -> float:
    """The middle place of a folder's pages in the order of requests, from 0 to 1."""
    places = [place for place, path in enumerate(fetched) if path.startswith(folder)]
    return places[len(places) // 2] / len(fetched)


def test_a_folder_of_missing_pages_is_left_for_the_end() -> None:
    """Translations that were not installed, say: each costs a request, none brings a host."""
    there = [f"en/{number}.html" for number in range(40)]
    missing = [f"de/{number}.html" for number in range(40)]
    both = [path for pair in zip(missing, there, strict=True) for path in pair]
    web: dict[str, Answer] = {_START: _links(*both)}
    web |= {f"{_START}{path}": [(f"http://h{path[3:]}.org/", "")] for path in there}
    fetched = _order(web)
    assert len(fetched) == 81
    assert _place(fetched, "en/") < 0.35
    assert _place(fetched, "de/") > 0.65


def test_depths_never_seen_do_not_look_better_than_the_known_one() -> None:
    """No page tells of hosts until the last of depth 1, which a walk downwards would leave."""
    front = [f"{number}.html" for number in range(30)]
    web: dict[str, Answer] = {_START: _links(*front)}
    for number, path in enumerate(front):
        chain = [f"{number}-{step}.html" for step in range(1, 8)]
        for page, below in zip([path, *chain], [*chain, ""], strict=True):
            web[f"{_START}{page}"] = _links(below) if below else []
    web[f"{_START}{front[-1]}"] = [("http://h.org/", "")]
    assert _order(web)[1:31] == front


def test_files_without_links_come_last() -> None:
    files = [f"{number}.pdf" for number in range(30)]
    pages = [f"{number}.html" for number in range(30)]
    web: dict[str, Answer] = {_START: _links(*files, *pages)}
    web |= {f"{_START}{path}": [] for path in (*files, *pages)}
    assert _order(web) == ["", *pages, *files]


def test_a_busy_server_says_nothing_of_its_pages() -> None:
    """429 is for the moment: the folder is as good as before, while 404 makes it worse."""
    for status, last in ((429, "other/page.html"), (404, "en/2.html")):
        pages = ["en/0.html", "en/1.html", "en/2.html", "other/page.html"]
        web: dict[str, Answer] = {_START: _links(*pages)}
        web |= {f"{_START}{page}": [] for page in pages}
        web[f"{_START}en/0.html"] = web[f"{_START}en/1.html"] = status
        web[f"{_START}other/page.html"] = [("http://h.org/", "")]
        assert _order(web)[-1] == last
