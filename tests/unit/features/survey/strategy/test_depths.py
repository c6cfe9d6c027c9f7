"""A page's depth is the length of the shortest way to it, whatever order pages were asked for in.

Checked against a search of its own over the same web: what `SurveyFacts` says of each depth, from
the log alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.features.survey.strategy.playing import Answer, play

from headgate.features.survey.strategy.entries import SurveyEntry
from headgate.features.survey.strategy.facts import SurveyFacts
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.politeness import PolitenessRules

_AT_ONCE = PolitenessRules(connections=1)
_START = "http://a.ke/"


def _surveyed(
    web: Mapping[str, Answer], starts: tuple[str, ...] = (_START,), depth: int = 8
) -> list[SurveyEntry]:
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, depth=depth))
    surveyor.start(starts)
    return play(surveyor, web).log


def _pages_by_depth(log: list[SurveyEntry]) -> list[int]:
    return SurveyFacts.from_log(lambda: log).servers["a.ke"].pages_by_depth


def test_a_page_asked_for_by_a_long_way_is_told_at_its_shortest() -> None:
    """Lists of links are walked first; the plain page that leads there at once comes last."""
    web: dict[str, Answer] = {
        _START: [("http://a.ke/1", "links"), ("http://a.ke/plain.pdf", "")],
        "http://a.ke/1": [("http://a.ke/2", "links")],
        "http://a.ke/2": [("http://a.ke/3", "links")],
        "http://a.ke/3": [("http://h.org/", "")],
        "http://a.ke/plain.pdf": [("http://a.ke/3", "")],
    }
    log = _surveyed(web)
    assert [entry.depth for entry in log if entry.url.endswith("3")] == [3]  # as it was asked for
    facts = SurveyFacts.from_log(lambda: log)
    assert facts.servers["a.ke"].pages_by_depth == [1, 2, 2]
    assert [level.new_hosts for level in facts.depths] == [0, 0, 1]
    assert [level.requests for level in facts.depths] == [1, 2, 2]


def test_a_page_known_from_the_survey_before_lies_where_its_links_are_now() -> None:
    web: dict[str, Answer] = {
        _START: [("http://a.ke/1", "")],
        "http://a.ke/1": [("http://a.ke/rich", "")],
        "http://a.ke/rich": [("http://h.org/", ""), ("http://a.ke/below", "")],
        "http://a.ke/below": [],
    }
    before = [
        SurveyEntry(
            "a.ke",
            _START,
            round=0,
            url=url,
            depth=1,
            ending=_surveyed(web)[0].ending,
            wall_time=0.0,
            status=200,
            new_hosts=["h.org"],
        )
        for url in ("http://a.ke/rich", "http://a.ke/forgotten")
    ]
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.remember(before)
    surveyor.start([_START])
    log = play(surveyor, web | {"http://a.ke/forgotten": []}).log
    assert _pages_by_depth(log) == [1, 2, 1, 1]  # what no link leads to stays where it was


_inside = st.integers(0, 25).map(lambda number: f"http://a.ke/{number % 4}/{number}")
_outside = st.integers(0, 20).map(lambda number: f"http://h{number}.org/")
_links = st.lists(
    st.tuples(_inside | _outside, st.sampled_from(["", "links", "partners"])), max_size=6
)
_answers = _links | _inside | st.sampled_from([404])


@settings(max_examples=300, deadline=None)
@given(
    web=st.dictionaries(_inside, _answers, min_size=8, max_size=26),
    home=_links,
    second=st.none() | _inside,
    depth=st.integers(0, 8),
)
def test_every_depth_is_that_of_a_breadth_first_search(
    web: dict[str, Answer], home: list[tuple[str, str]], second: str | None, depth: int
) -> None:
    starts = (_START,) if second is None else (_START, second)
    full: dict[str, Answer] = {**web, _START: home}
    log = _surveyed(full, starts, depth=depth)
    facts = SurveyFacts.from_log(lambda: log)
    asked = {entry.url for entry in log}
    true = _shortest(full, starts, asked)
    assert true.keys() == asked
    requests = Counter(true.values())
    assert [level.requests for level in facts.depths] == [
        requests[d] for d in range(max(true.values()) + 1)
    ]
    pages = Counter(depth for url, depth in true.items() if isinstance(full.get(url), list))
    assert Counter(dict(enumerate(facts.servers["a.ke"].pages_by_depth))) == pages
    hosts: dict[str, int] = {}
    for url, lies in true.items():
        links = full.get(url)
        for target, _ in links if isinstance(links, list) else ():
            if not target.startswith("http://a.ke/"):
                hosts[target] = min(lies, hosts.get(target, lies))
    assert Counter({d: level.new_hosts for d, level in enumerate(facts.depths)}) == Counter(
        hosts.values()
    )


def _shortest(
    web: Mapping[str, Answer], starts: tuple[str, ...], asked: set[str]
) -> dict[str, int]:
    """Rounds of relaxation until nothing changes, over pages that were asked for."""
    depths = dict.fromkeys(starts, 0)
    changed = True
    while changed:
        changed = False
        for url, depth in list(depths.items()):
            answer = web.get(url, 404)
            steps: list[tuple[str, int]] = []
            if isinstance(answer, str):
                steps = [(answer, depth)]
            elif isinstance(answer, list):
                steps = [(target, depth + 1) for target, _ in answer]
            for target, length in steps:
                if target in asked and length < depths.get(target, 1000):
                    depths[target] = length
                    changed = True
    return depths
