"""What requests for robots.txt leave in a survey's log."""

from __future__ import annotations

import pytest

from headgate.crawling.robots import RobotsFile
from headgate.features.survey.entries import robots_entry
from headgate.features.survey.strategy.entries import RobotsStance, SurveyEntry
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.politeness import PolitenessRules
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, TlsFacts
from headgate.reading.robots import NOTHING, rules_for_status

ORIGIN = "https://a.ke"
TLS = TlsFacts("TLSv1.3", "Trust Ltd", 2e9)


def _fetched(status: int, url: str = f"{ORIGIN}/robots.txt") -> Fetched:
    return Fetched(
        url,
        status,
        headers=(),
        request_head=b"",
        response_head=b"",
        payload=b"",
        address="192.0.2.1",
        wall_time=0.0,
        first_byte_seconds=0.1,
        seconds=0.2,
        wire_bytes=400,
        tls=TLS,
    )


def _entry(found: RobotsFile) -> SurveyEntry:
    surveyor = Surveyor(SurveyRules(pace=PolitenessRules(connections=1)))
    surveyor.start([f"{ORIGIN}/"])
    return robots_entry(surveyor.trees[0], ORIGIN, found)


@pytest.mark.parametrize(
    ("status", "text", "stance"),
    [
        (404, b"", RobotsStance.ABSENT),
        (200, b"User-agent: *\nDisallow:", RobotsStance.OPEN),
        (200, b"User-agent: other\nDisallow: /", RobotsStance.OPEN),
        (200, b"User-agent: *\nDisallow: /private", RobotsStance.PARTIAL),
        (200, b"User-agent: *\nDisallow: /", RobotsStance.CLOSED),
        (503, b"", RobotsStance.UNAVAILABLE),
    ],
)
def test_its_stance(status: int, text: bytes, stance: RobotsStance) -> None:
    entry = _entry(RobotsFile(rules_for_status(status, text), [_fetched(status)]))
    assert (entry.robots, entry.tls) == (stance, TLS)


def test_a_failure_leaves_what_was_wrong_with_the_certificate() -> None:
    why = "certificate: certificate has expired"
    failure = FetchFailure(f"{ORIGIN}/robots.txt", FailureKind.TLS, why)
    entry = _entry(RobotsFile(NOTHING, [failure]))
    assert (entry.robots, entry.tls, entry.tls_error) == (RobotsStance.UNAVAILABLE, None, why)


def test_redirects_are_one_entry_and_another_server_shows_its_own_certificate() -> None:
    moved: list[Fetched | FetchFailure] = [
        _fetched(301),
        _fetched(200, "https://elsewhere.example/robots.txt"),
    ]
    entry = _entry(RobotsFile(rules_for_status(200, b"User-agent: *\nCrawl-delay: 3"), moved))
    assert (entry.requests, entry.wire_bytes, entry.crawl_delay) == (2, 800, 3.0)
    assert entry.tls is None
