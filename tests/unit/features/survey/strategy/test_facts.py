"""What is told of servers: nothing that was not measured."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.unit.features.survey.strategy.playing import Answer, play

from headgate.features.survey.strategy.entries import RequestEnding, RobotsStance, SurveyEntry
from headgate.features.survey.strategy.facts import ServerFacts, SurveyFacts
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.politeness import PolitenessRules
from headgate.model.fetch import FailureKind, TlsFacts


def _answer(payload: int, body_seconds: float, name: str = "p") -> SurveyEntry:
    return SurveyEntry(
        "a.ke",
        "http://a.ke/",
        round=0,
        url=f"http://a.ke/{name}",
        depth=0,
        ending=RequestEnding.PAGE,
        wall_time=0.0,
        status=200,
        payload_bytes=payload,
        first_byte_seconds=0.2,
        seconds=0.2 + body_seconds,
    )


def _server(*entries: SurveyEntry) -> ServerFacts:
    return SurveyFacts.from_log(lambda: entries).servers["a.ke"]


@pytest.mark.parametrize("body_seconds", [0.0, 0.00005])
def test_bodies_that_come_with_their_heads_tell_no_transfer_rate(body_seconds: float) -> None:
    """Fifty microseconds are what reading took, not what the line did."""
    server = _server(_answer(900, body_seconds), _answer(12_000, body_seconds, "q"))
    assert server.transfer_rate is None
    assert server.response_seconds == pytest.approx(0.2)


def test_small_bodies_do_not_make_a_server_look_fast() -> None:
    small = [_answer(10_000, 0.0, str(number)) for number in range(100)]
    assert _server(_answer(50_000, 1.0), *small).transfer_rate == pytest.approx(50_000)


def test_a_server_that_never_answered_has_neither_time_nor_rate() -> None:
    entry = SurveyEntry(
        "a.ke",
        "http://a.ke/",
        round=0,
        url="http://a.ke/",
        depth=0,
        ending=RequestEnding.FAILURE,
        wall_time=0.0,
        detail="dns",
    )
    server = _server(entry)
    assert (server.response_seconds, server.transfer_rate) == (None, None)


def test_the_curve_ends_where_the_survey_did() -> None:
    entries = [_answer(100, 0.0, str(number)) for number in range(1001)]
    assert SurveyFacts.from_log(lambda: entries).curve[-1] == (1001, 0)


def test_a_server_is_told_by_its_first_handshake_and_its_first_robots_file() -> None:
    tls = TlsFacts("TLSv1.3", "Trust Ltd", 2e9)
    robots = replace(_answer(100, 0.0, "robots.txt"), ending=RequestEnding.ROBOTS)
    server = _server(
        replace(robots, robots=RobotsStance.PARTIAL, crawl_delay=2.0),
        replace(_answer(100, 0.0), tls=tls),
        replace(robots, robots=RobotsStance.ABSENT),
        replace(_answer(100, 0.0), tls=TlsFacts("TLSv1.2"), tls_error="certificate has expired"),
    )
    assert server.tls == tls
    assert (server.robots, server.crawl_delay) == (RobotsStance.PARTIAL, 2.0)
    assert server.tls_error == "certificate has expired"


def _surveyor(*, breadth_first: bool = False) -> Surveyor:
    rules = SurveyRules(pace=PolitenessRules(connections=1), breadth_first=breadth_first)
    surveyor = Surveyor(rules)
    surveyor.start(["http://a.ke/"])
    return surveyor


def test_where_no_host_was_found_no_share_of_them_is_told() -> None:
    webs: list[dict[str, Answer]] = [
        {"http://a.ke/": []},
        {"http://a.ke/": FailureKind.DNS},
        {"http://a.ke/": [("http://a.ke/x", "")]},
    ]
    for web in webs:
        surveyor = _surveyor()
        play(surveyor, web)
        assert surveyor.outlook.share_found() is None
    surveyor = _surveyor()
    play(surveyor, {"http://a.ke/": [("http://b.tz/", "")]})
    assert surveyor.outlook.share_found() == 1.0


@pytest.mark.parametrize("breadth_first", [False, True])
def test_what_one_more_page_would_bring_is_learned_in_any_order(breadth_first: bool) -> None:
    """By depth, a page was said to bring 1 / (1 + depth)."""
    pages = [f"http://a.ke/{number}" for number in range(300)]
    surveyor = _surveyor(breadth_first=breadth_first)

    class Stopped(dict[str, Answer]):
        """A web that is left after 250 pages."""

        def get(self, url: str, default: object = None) -> Answer:  # noqa: ARG002 - never needed
            if url.endswith("/250"):
                surveyor.stop("enough")
            return [(page, "") for page in pages] if url == "http://a.ke/" else []

    play(surveyor, Stopped())
    assert 0.0 < surveyor.outlook.next_yield() < 0.02
