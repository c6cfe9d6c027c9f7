"""The surveyor's promises: closure within the depth, one fetch per script, caps, ends by itself."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.frontier.pacing import PaceRules
from headgate.model.fetch import FailureKind
from headgate.reading.urls import host
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.rules import ALL, Scope
from headgate.survey.server_tree import ServerState
from headgate.survey.survey_rules import SurveyRules
from headgate.survey.surveyor import Surveyor

from .playing import Answer, play

_AT_ONCE = PaceRules(connections=1)


def _links(*urls: str) -> list[tuple[str, str]]:
    return [(url, "") for url in urls]


def test_it_walks_a_server_and_finds_hosts() -> None:
    web: dict[str, Answer] = {
        "http://www.a.ke/": _links("http://a.ke/x", "http://b.tz/1", "http://sub.a.ke/"),
        "http://a.ke/x": _links("http://c.org/"),
        "http://sub.a.ke/": _links("http://www.a.ke/"),
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://www.a.ke/"])
    played = play(surveyor, web)
    assert sorted(played.fetched) == sorted(web)
    assert surveyor.hosts == {"b.tz", "c.org"}
    assert played.robots == ["http://www.a.ke", *played.robots[1:]]
    assert surveyor.trees[0].pages_by_depth == [1, 2]
    assert surveyor.trees[0].requests == len(played.fetched) + len(played.robots)
    assert played.ending == "finished"


def test_hosts_in_scope_become_starts_up_to_the_round_limit() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/": _links("http://b.ke/deep/page", "http://c.org/"),
        "http://b.ke/": _links("http://d.ke/"),
        "http://d.ke/": _links("http://e.ke/"),
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, scope=Scope(("ke",)), rounds=2))
    surveyor.start(["http://a.ke/"])
    play(surveyor, web)
    assert [(tree.domain, tree.round) for tree in surveyor.trees] == [
        ("a.ke", 0), ("b.ke", 1), ("d.ke", 2),
    ]  # fmt: skip
    assert surveyor.hosts == {"b.ke", "c.org", "d.ke", "e.ke"}


def test_names_without_end_are_probed_a_few_times_only() -> None:
    names = [f"http://n{number}.wild.ke/" for number in range(500)]
    surveyor = Surveyor(
        SurveyRules(pace=_AT_ONCE, scope=ALL, names_per_domain=32),
        registrable=lambda name: ".".join(name.split(".")[-2:]),
    )
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, {"http://a.ke/": _links(*names)})
    assert len(surveyor.hosts) == 500
    assert len(played.fetched) == 1 + 32


def test_a_dead_server_costs_one_request_and_says_why() -> None:
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://dead.ke/", "http://b.ke/"])
    play(surveyor, {"http://dead.ke/": FailureKind.CONNECT_TIMEOUT, "http://b.ke/": []})
    dead = surveyor.trees[0]
    assert (dead.state, dead.reason) == (ServerState.GIVEN_UP, "connect-timeout")
    assert dead.requests == 2  # robots.txt, which the table answers, and the page
    assert surveyor.trees[1].state is ServerState.DONE


def test_pace_is_kept_and_the_rest_of_the_world_goes_on_meanwhile() -> None:
    web: dict[str, Answer] = {
        f"http://{name}.ke/": _links(*(f"http://{name}.ke/{page}" for page in range(5)))
        for name in "ab"
    }
    for name in "ab":
        web.update({f"http://{name}.ke/{page}": [] for page in range(5)})
    surveyor = Surveyor(SurveyRules(pace=PaceRules(connections=1, delay=2.0)))
    surveyor.start(["http://a.ke/", "http://b.ke/"])
    played = play(surveyor, web)
    for name in "ab":
        at = [time for url, time in zip(played.fetched, played.times, strict=True) if name in url]
        assert len(at) == 6
        assert all(later - sooner >= 2.0 for sooner, later in pairwise(at))
    assert max(played.times) <= 2.0 * 6  # both at once, not one after the other


def test_low_yield_ends_it_after_each_server_was_probed() -> None:
    web: dict[str, Answer] = {}
    for number in range(20):
        site = f"http://s{number}.ke"
        web[f"{site}/"] = _links(*(f"{site}/p/{page}" for page in range(50)))
        web.update({f"{site}/p/{page}": [] for page in range(50)})
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, least_yield=0.05))
    surveyor.start(f"http://s{number}.ke/" for number in range(20))
    played = play(surveyor, web)
    assert played.ending == "nothing promises enough"
    assert all(f"http://s{number}.ke/" in played.fetched for number in range(20))
    assert len(played.fetched) < 300  # of 1020


def test_robots_are_obeyed() -> None:
    web: dict[str, Answer] = {"http://a.ke/": _links("http://a.ke/no", "http://a.ke/yes")}
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, web, allows=lambda url: "no" not in url)
    assert played.fetched == ["http://a.ke/", "http://a.ke/yes"]


def test_what_was_stored_is_not_asked_for_again() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/": _links("http://a.ke/x", "http://a.ke/y"),
        "http://a.ke/x": _links("http://b.tz/"),
        "http://a.ke/y": _links("http://c.tz/"),
    }
    stored = {
        url: SurveyEntry("a.ke", "http://a.ke/", 0, url, 0, Ending.PAGE, 0.0, links=_links(*out))
        for url, out in {
            "http://a.ke/": ("http://a.ke/x", "http://a.ke/y"),
            "http://a.ke/x": ("http://b.tz/",),
        }.items()
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE), recall=stored.get)
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, web)
    assert played.fetched == ["http://a.ke/y"]
    assert surveyor.hosts == {"b.tz", "c.tz"}
    assert surveyor.trees[0].pages_by_depth == [1, 2]


_paths = st.integers(0, 30).map(lambda number: f"http://a.ke/{number % 5}/{number}")
_scripts = st.tuples(st.integers(0, 3), st.integers(0, 50)).map(
    lambda pair: f"http://a.ke/s{pair[0]}?q={pair[1]}"
)
_outside = st.integers(0, 40).map(lambda number: f"http://h{number}.org/")
_pages = st.lists(_paths | _scripts | _outside, max_size=8)
_answers = st.one_of(
    _pages.map(lambda urls: _links(*urls)),
    st.sampled_from([404, 500]),
    st.sampled_from([FailureKind.CLOSED]),
    _paths,
)


@settings(max_examples=200, deadline=None)
@given(
    web=st.dictionaries(_paths | _scripts, _answers, max_size=40),
    home=_pages,
    depth=st.integers(0, 6),
    most=st.integers(2, 60),
    breadth_first=st.booleans(),
)
def test_any_web_ends_within_the_caps(
    web: dict[str, Answer], home: list[str], depth: int, most: int, breadth_first: bool
) -> None:
    full = web | {"http://a.ke/": _links(*home)}
    rules = SurveyRules(depth=depth, most_requests=most, pace=_AT_ONCE, breadth_first=breadth_first)
    surveyor = Surveyor(rules)
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, full)
    assert len(played.fetched) + len(played.robots) <= most
    assert len(set(played.fetched)) == len(played.fetched)
    scripts = [url.partition("?")[0] for url in played.fetched if "?" in url]
    assert len(set(scripts)) == len(scripts), "a script was asked twice"
    assert set(played.fetched) <= set(full) | {url for links in _followed(full) for url in links}


@settings(max_examples=200, deadline=None)
@given(
    web=st.dictionaries(_paths, _pages.map(lambda urls: _links(*urls)), max_size=40),
    home=_pages,
    depth=st.integers(0, 6),
)
def test_breadth_first_fetches_the_closure_within_the_depth(
    web: dict[str, Answer], home: list[str], depth: int
) -> None:
    """Without scripts in the way, the paper's order is plain breadth-first search."""
    full: dict[str, Answer] = {
        url: [link for link in links if "?" not in link[0]]
        for url, links in (web | {"http://a.ke/": _links(*home)}).items()
        if isinstance(links, list)
    }
    surveyor = Surveyor(SurveyRules(depth=depth, pace=_AT_ONCE, breadth_first=True))
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, full)
    assert sorted(played.fetched) == sorted(_closure(full, "http://a.ke/", depth))


def _followed(web: dict[str, Answer]) -> list[list[str]]:
    followed = []
    for answer in web.values():
        if isinstance(answer, str):
            followed.append([answer])
        elif isinstance(answer, list):
            followed.append([url for url, _ in answer])
    return followed


def _closure(web: dict[str, Answer], start: str, depth: int) -> dict[str, int]:
    found = {start: 0}
    queue = deque([start])
    while queue:
        page = queue.popleft()
        links = web.get(page, [])
        assert isinstance(links, list)
        for url, _ in links:
            if host(url) == "a.ke" and url not in found and found[page] < depth:
                found[url] = found[page] + 1
                queue.append(url)
    return found
