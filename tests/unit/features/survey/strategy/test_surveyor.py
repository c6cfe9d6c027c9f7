"""The surveyor's promises: closure within the depth, one fetch per script, caps, ends by itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.features.survey.strategy.playing import Answer, play

from headgate.features.survey.strategy.entries import RequestEnding, ServerRecord, SurveyEntry
from headgate.features.survey.strategy.events import Command, FetchRobots
from headgate.features.survey.strategy.rules import ALL, SurveyRules, SurveyScope
from headgate.features.survey.strategy.server_tree import ServerState
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.events import Tick, Wait
from headgate.frontier.politeness import PolitenessRules
from headgate.model.fetch import FailureKind
from headgate.reading.urls import host

_AT_ONCE = PolitenessRules(connections=1)


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
    assert surveyor.trees[0].pages == 3
    assert surveyor.trees[0].requests == len(played.fetched) + len(played.robots)
    assert played.ending == "finished"


def test_hosts_in_scope_become_starts_up_to_the_round_limit() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/": _links("http://b.ke/deep/page", "http://c.org/"),
        "http://b.ke/": _links("http://d.ke/"),
        "http://d.ke/": _links("http://e.ke/"),
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, scope=SurveyScope(("ke",)), rounds=2))
    surveyor.start(["http://a.ke/"])
    play(surveyor, web)
    assert [(tree.domain, tree.round) for tree in surveyor.trees] == [
        ("a.ke", 0), ("b.ke", 1), ("d.ke", 2),
    ]  # fmt: skip
    assert surveyor.hosts == {"b.ke", "c.org", "d.ke", "e.ke"}


def test_a_server_can_be_all_that_was_registered() -> None:
    web: dict[str, Answer] = {
        "http://news.a.co.ke/": _links("http://shop.a.co.ke/", "http://b.co.ke/"),
        "http://shop.a.co.ke/": _links("http://c.co.ke/"),
    }
    for whole, domain, hosts in (
        (True, "a.co.ke", {"b.co.ke", "c.co.ke"}),
        (False, "news.a.co.ke", {"b.co.ke", "shop.a.co.ke"}),
    ):
        surveyor = Surveyor(
            SurveyRules(pace=_AT_ONCE, whole_registration=whole),
            registrable=lambda name: ".".join(name.split(".")[-3:]),
        )
        surveyor.start(["http://news.a.co.ke/"])
        play(surveyor, web)
        assert surveyor.trees[0].domain == domain
        assert surveyor.hosts == hosts


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
    surveyor = Surveyor(SurveyRules(pace=PolitenessRules(connections=1, delay=2.0)))
    surveyor.start(["http://a.ke/", "http://b.ke/"])
    played = play(surveyor, web)
    for name in "ab":
        at = [time for url, time in zip(played.fetched, played.times, strict=True) if name in url]
        assert len(at) == 6
        assert all(later - sooner >= 2.0 for sooner, later in pairwise(at))
    assert max(played.times) <= 2.0 * 6  # both at once, not one after the other


def test_servers_that_hang_make_room_for_others() -> None:
    rules = SurveyRules(pace=_AT_ONCE, slots=2)
    surveyor = Surveyor(rules)
    surveyor.start(f"http://s{number}.ke/" for number in range(20))

    def asked(commands: Sequence[Command]) -> int:
        return sum(isinstance(command, FetchRobots) for command in commands)

    first = surveyor.handle(Tick(), 0.0).commands
    assert asked(first) == 2
    assert isinstance(first[-1], Wait)
    assert asked(surveyor.handle(Tick(), 0.9).commands) == 0
    assert [asked(surveyor.handle(Tick(), moment).commands) for moment in (1.0, 2.0, 3.0, 4.0)] == [
        2,
        2,
        2,
        0,
    ]
    surveyor.check()


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


@dataclass
class _Log:
    """What an interrupted survey, or the one before, wrote down."""

    entries: dict[str, SurveyEntry] = field(default_factory=dict)
    servers: dict[str, ServerRecord] = field(default_factory=dict)

    def find(self, url: str) -> SurveyEntry | None:
        return self.entries.get(url)

    def server(self, domain: str) -> ServerRecord | None:
        return self.servers.get(domain)


def _logged(web: Mapping[str, Answer], urls: Iterable[str]) -> _Log:
    """The log of a survey that asked for robots.txt and these pages of a.ke."""
    log = _Log(servers={"a.ke": ServerRecord(requests=1, wire_bytes=100)})
    for url in urls:
        log.servers["a.ke"].requests += 1
        answer = web.get(url, 404)
        ending, links, detail, status = RequestEnding.STATUS, [], "", 404
        if isinstance(answer, list):
            ending, links, status = RequestEnding.PAGE, answer, 200
        elif isinstance(answer, FailureKind):
            ending, detail, status = RequestEnding.FAILURE, answer.value, 0
        elif isinstance(answer, str):
            ending, detail, status = RequestEnding.REDIRECT, answer, 301
        log.entries[url] = SurveyEntry(
            "a.ke",
            "http://a.ke/",
            round=0,
            url=url,
            depth=0,
            ending=ending,
            wall_time=0.0,
            status=status,
            detail=detail,
            links=links,
        )
    return log


def test_what_was_stored_is_not_asked_for_again() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/": _links("http://a.ke/x", "http://a.ke/y"),
        "http://a.ke/x": _links("http://b.tz/"),
        "http://a.ke/y": _links("http://c.tz/"),
    }
    surveyor = Surveyor(
        SurveyRules(pace=_AT_ONCE), stored=_logged(web, ["http://a.ke/", "http://a.ke/x"])
    )
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, web)
    assert played.fetched == ["http://a.ke/y"]
    assert surveyor.hosts == {"b.tz", "c.tz"}
    assert surveyor.trees[0].pages == 3


def test_a_server_that_was_silent_before_the_crash_is_not_asked_again() -> None:
    log = _Log(servers={"dead.ke": ServerRecord(1, 0, "dns")})
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE), stored=log)
    surveyor.start(["http://dead.ke/"])
    played = play(surveyor, {})
    assert (played.robots, played.fetched) == ([], [])
    dead = surveyor.trees[0]
    assert (dead.state, dead.reason, dead.requests) == (ServerState.GIVEN_UP, "dns", 1)


def test_a_server_that_was_silent_last_time_is_probed_last() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/": _links("http://a.ke/1", "http://a.ke/2"),
        "http://a.ke/1": [],
        "http://a.ke/2": [],
        "http://slow.ke/": _links("http://b.tz/"),
    }
    earlier = _Log(servers={"slow.ke": ServerRecord(1, 0, "first-byte-timeout")})
    for least_yield in (0.0, 100.0):
        rules = SurveyRules(pace=_AT_ONCE, slots=1, least_yield=least_yield)
        surveyor = Surveyor(rules, earlier=earlier)
        surveyor.start(["http://slow.ke/", "http://a.ke/"])
        played = play(surveyor, web)
        assert played.robots == ["http://a.ke", "http://slow.ke"]
        if least_yield == 0.0:
            assert played.fetched[-1] == "http://slow.ke/"


def test_a_host_with_a_start_of_its_own_is_asked_from_there_alone() -> None:
    """Else it would have two connections and twice the load."""
    pages = [f"http://sub.a.ke/{number}" for number in range(30)]
    web: dict[str, Answer] = {
        "http://a.ke/": _links(*pages),
        "http://sub.a.ke/": _links(*pages),
        **{page: [] for page in pages},
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, most_requests=10))
    surveyor.start(["http://sub.a.ke/", "http://a.ke/"])
    played = play(surveyor, web)
    of_sub = [url for url in played.fetched if "sub.a.ke" in url]
    assert len(of_sub) + played.robots.count("http://sub.a.ke") == 10
    assert surveyor.trees[1].requests == 2
    assert surveyor.hosts == set()


def test_a_script_that_moves_to_https_is_followed() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/s?p=1": "https://a.ke/s?p=1",
        "https://a.ke/s?p=1": _links("http://b.tz/", "https://a.ke/s?p=2", "https://a.ke/s"),
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://a.ke/s?p=1"])
    played = play(surveyor, web)
    assert played.fetched == ["http://a.ke/s?p=1", "https://a.ke/s?p=1"]
    assert surveyor.hosts == {"b.tz"}


def test_a_page_without_query_is_not_lost_to_its_own_script() -> None:
    web: dict[str, Answer] = {
        "http://a.ke/": _links("http://a.ke/wiki?do=edit", "http://a.ke/wiki?do=show"),
        "http://a.ke/wiki?do=edit": _links("http://a.ke/wiki"),
        "http://a.ke/wiki": _links("http://b.tz/"),
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://a.ke/"])
    assert play(surveyor, web).fetched == ["http://a.ke/", "http://a.ke/wiki?do=edit"]

    web["http://a.ke/"] = _links("http://a.ke/wiki?do=edit", "http://a.ke/wiki")
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://a.ke/"])
    assert play(surveyor, web).fetched == [
        "http://a.ke/", "http://a.ke/wiki", "http://a.ke/wiki?do=edit",
    ]  # fmt: skip


def test_a_page_met_by_a_long_way_first_still_lies_where_it_lies() -> None:
    """Lists of links are walked first, and lead round to what the front page redirects to."""
    front = ["http://a.ke/links", "http://a.ke/plain.pdf"]
    web: dict[str, Answer] = {
        "http://a.ke/": _links(*front),
        "http://a.ke/links": _links("http://a.ke/links2"),
        "http://a.ke/links2": _links("http://a.ke/links3"),
        "http://a.ke/links3": _links("http://a.ke/below"),
        "http://a.ke/plain.pdf": "http://a.ke/links3",
        "http://a.ke/below": _links("http://a.ke/lowest"),
        "http://a.ke/lowest": _links("http://b.tz/"),
    }
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, depth=3))
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, web)
    assert played.fetched.index("http://a.ke/links3") < played.fetched.index(
        "http://a.ke/plain.pdf"
    )
    assert sorted(played.fetched) == sorted(web)
    assert surveyor.hosts == {"b.tz"}


def test_a_server_closed_by_robots_says_so() -> None:
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE))
    surveyor.start(["http://a.ke/"])
    play(surveyor, {}, allows=lambda _: False)
    assert (surveyor.trees[0].state, surveyor.trees[0].reason) == (ServerState.DONE, "robots.txt")


def test_names_of_one_server_share_its_cap_robots_included() -> None:
    names = [f"http://n{number}.a.ke/" for number in range(1000)]
    web: dict[str, Answer] = {"http://a.ke/": _links(*names), **{name: [] for name in names}}
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, most_requests=20))
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, web)
    assert (len(played.robots), len(played.fetched)) == (10, 10)
    assert surveyor.trees[0].state is ServerState.CAPPED


def test_a_server_whose_bytes_are_used_up_to_the_last_is_asked_no_more() -> None:
    """robots.txt takes 100 bytes, a page 1000."""
    pages = [f"http://a.ke/{number}" for number in range(9)]
    web: dict[str, Answer] = {"http://a.ke/": _links(*pages), **{page: [] for page in pages}}
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, most_bytes=2100))
    surveyor.start(["http://a.ke/"])
    assert len(play(surveyor, web).fetched) == 2
    assert surveyor.trees[0].wire_bytes == 2100


def test_a_server_may_name_so_many_hosts_and_no_more() -> None:
    others = [f"http://other{number}.org/" for number in range(9)]
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, most_hosts=3))
    surveyor.start(["http://a.ke/"])
    play(surveyor, {"http://a.ke/": _links(*others)})
    assert len(surveyor.hosts) == 3


def test_what_each_further_level_would_cost_and_bring() -> None:
    """A tree in which each page opens two and brings a host of its own, cut at depth 3."""
    web: dict[str, Answer] = {}

    def grow(path: str, depth: int) -> None:
        below = [f"{path}{step}" for step in "ab"]
        web[path] = _links(f"http://h{len(web)}.org/", *below)
        if depth < 5:
            for page in below:
                grow(page, depth + 1)

    grow("http://a.ke/", 0)
    surveyor = Surveyor(SurveyRules(pace=_AT_ONCE, depth=3))
    surveyor.start(["http://a.ke/"])
    play(surveyor, web)
    levels = surveyor.outlook.to_come()
    assert [round(level.pages) for level in levels[:6]] == [0, 0, 0, 0, 16, 32]
    assert 12 <= levels[4].new_hosts <= 20
    assert surveyor.outlook.share_found() == 1.0  # of what lies within the depth


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


@settings(max_examples=100, deadline=None)
@given(
    web=st.dictionaries(_paths | _scripts, _answers, max_size=40),
    home=_pages,
    most=st.integers(4, 40),
    kill=st.integers(1, 30),
)
def test_a_survey_that_was_killed_keeps_its_caps_and_asks_for_nothing_twice(
    web: dict[str, Answer], home: list[str], most: int, kill: int
) -> None:
    full = web | {"http://a.ke/": _links(*home)}
    rules = SurveyRules(most_requests=most, pace=_AT_ONCE)
    whole = Surveyor(rules)
    whole.start(["http://a.ke/"])
    before = play(whole, full).fetched[:kill]
    surveyor = Surveyor(rules, stored=_logged(full, before))
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, full)
    assert not set(played.fetched) & set(before)
    assert 1 + len(before) + len(played.robots) + len(played.fetched) <= max(most, 1 + len(before))
    scripts = [url.partition("?")[0] for url in (*before, *played.fetched) if "?" in url]
    assert len(set(scripts)) == len(scripts), "a script was asked twice"


@settings(max_examples=200, deadline=None)
@given(
    web=st.dictionaries(_paths, _pages.map(lambda urls: _links(*urls)), min_size=10, max_size=40),
    home=_pages,
    depth=st.integers(0, 6),
    breadth_first=st.booleans(),
)
def test_any_order_fetches_the_closure_within_the_depth(
    web: dict[str, Answer], home: list[str], depth: int, breadth_first: bool
) -> None:
    """Depth is the shortest way, whatever order pages come in: those whose links say "links" come
    first here. Scripts are left out."""
    full: dict[str, Answer] = {
        url: [(to, "links" if to[-1] in "147" else "") for to, _ in links if "?" not in to]
        for url, links in (web | {"http://a.ke/": _links(*home)}).items()
        if isinstance(links, list)
    }
    surveyor = Surveyor(SurveyRules(depth=depth, pace=_AT_ONCE, breadth_first=breadth_first))
    surveyor.start(["http://a.ke/"])
    played = play(surveyor, full)
    closure = _closure(full, "http://a.ke/", depth)
    assert sorted(played.fetched) == sorted(closure)


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


def test_a_cap_is_used_to_the_last_request_and_robots_txt_leaves_room_for_a_page() -> None:
    web: dict[str, Answer] = {
        f"http://a.ke/{k or ''}": _links(f"http://a.ke/{k + 1}") for k in range(50)
    }
    for cap in (2, 3, 7):
        surveyor = Surveyor(SurveyRules(most_requests=cap, depth=60, pace=_AT_ONCE))
        surveyor.start(["http://a.ke/"])
        (command,) = (
            c for c in surveyor.handle(Tick(), 0.0).commands if isinstance(c, FetchRobots)
        )
        assert command.most_requests == cap - 1
        surveyor = Surveyor(SurveyRules(most_requests=cap, depth=60, pace=_AT_ONCE))
        surveyor.start(["http://a.ke/"])
        played = play(surveyor, web)
        assert len(played.fetched) + len(played.robots) == cap
        assert surveyor.trees[0].requests == cap
        assert surveyor.trees[0].state is ServerState.CAPPED
