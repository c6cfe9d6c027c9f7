"""One host's pace."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.frontier.politeness import HostPoliteness, PolitenessRules
from headgate.model.site import Site
from headgate.model.units import Seconds


def start(pace: HostPoliteness, now: float) -> float:
    assert pace.ready(now)
    pace.started(now)
    return now


def test_as_many_at_once_as_there_are_connections() -> None:
    pace = HostPoliteness(PolitenessRules(connections=2))
    start(pace, 0.0)
    start(pace, 0.0)
    assert not pace.ready(100.0)
    pace.answered()
    assert pace.ready(0.0)


def polite(site: Site | None = None) -> HostPoliteness:
    return HostPoliteness(PolitenessRules.for_site(site or Site("a")))


def test_by_default_one_at_a_time_until_the_host_has_had_its_usual_time() -> None:
    pace = polite()
    start(pace, 0.0)
    assert not pace.ready(1000.0)  # nothing was answered yet
    pace.took(0.5)
    pace.answered()
    start(pace, 1.0)
    assert pace.opens == 1.5
    assert not pace.ready(1.4)
    start(pace, 1.5)  # the first is still on its way
    assert not pace.ready(1.9)
    pace.answered()
    pace.answered()
    assert pace.ready(1.6)  # nothing is under way


def test_the_usual_time_rises_at_once_and_falls_by_half() -> None:
    pace = polite()
    start(pace, 0.0)
    for seconds, usual in ((0.1, 0.1), (2.0, 2.0), (0.0, 1.0), (0.6, 0.8)):
        pace.took(seconds)
        assert pace.opens == pytest.approx(usual)


def test_quick_errors_make_nobody_faster() -> None:
    pace = polite()
    start(pace, 0.0)
    pace.took(1.0)
    pace.took(0.01, error=True)
    assert pace.opens == 1.0
    pace.took(3.0, error=True)
    assert pace.opens == 3.0


def test_a_public_host_is_asked_ten_times_a_second_at_the_most() -> None:
    pace = polite()
    pace.found_public()
    pace.took(0.001)
    start(pace, 0.0)
    pace.answered()
    assert not pace.ready(0.09)
    assert pace.ready(0.1)


def test_a_host_nearby_is_asked_a_hundred_times_a_second_at_the_most() -> None:
    pace = polite()
    pace.took(0.001)
    start(pace, 0.0)
    pace.answered()
    assert not pace.ready(0.009)
    assert pace.ready(0.01)


def test_the_users_word_on_connections_or_delay_holds() -> None:
    many = polite(Site("a", connections=3))
    for moment in (0.0, 0.01, 0.02):
        start(many, moment)
    assert not many.ready(100.0)
    quick = polite(Site("a", delay=Seconds(0.0)))
    quick.found_public()
    for _ in range(6):
        start(quick, 0.0)
    slow = polite(Site("a", delay=Seconds(2.0)))
    slow.found_public()
    start(slow, 0.0)
    assert slow.opens == 2.0


def test_a_longer_crawl_delay_wins_over_the_users_delay() -> None:
    pace = polite(Site("a", connections=9, delay=Seconds(0.0)))
    pace.crawl_delay(3.0)
    start(pace, 0.0)
    pace.answered()
    assert pace.opens == 3.0


def test_delay_is_from_start_to_start() -> None:
    pace = HostPoliteness(PolitenessRules(delay=2.0))
    start(pace, 10.0)
    assert not pace.ready(11.9)
    assert pace.ready(12.0)


def test_crawl_delay_takes_one_connection_and_the_longer_delay() -> None:
    pace = HostPoliteness(PolitenessRules(delay=2.0))
    pace.crawl_delay(5.0)
    start(pace, 0.0)
    assert not pace.ready(5.0)
    pace.answered()
    assert not pace.ready(4.9)
    assert pace.ready(5.0)


def test_a_crawl_delay_is_for_all_who_ask_the_host_together() -> None:
    pace = HostPoliteness(PolitenessRules(guests=3))
    pace.crawl_delay(5.0)
    start(pace, 0.0)
    pace.answered()
    assert not pace.ready(14.9)
    assert pace.ready(15.0)


def test_a_short_crawl_delay_does_not_shorten_the_users() -> None:
    pace = HostPoliteness(PolitenessRules(delay=2.0))
    pace.crawl_delay(0.5)
    start(pace, 0.0)
    pace.answered()
    assert not pace.ready(1.9)


def test_an_absurd_crawl_delay_is_cut() -> None:
    pace = HostPoliteness(PolitenessRules())
    pace.crawl_delay(86400.0)
    start(pace, 0.0)
    pace.answered()
    assert pace.ready(60.0)


def test_no_crawl_delay_changes_nothing() -> None:
    pace = HostPoliteness(PolitenessRules(connections=2))
    pace.crawl_delay(0.0)
    start(pace, 0.0)
    assert pace.ready(0.0)


def test_busy_pauses_double_and_a_good_answer_ends_them() -> None:
    pace = HostPoliteness(PolitenessRules())
    now, pauses = 0.0, []
    for _ in range(4):
        pace.busy("status 503", start(pace, now), now, None)
        pauses.append(pace.next_start - now)
        now = pace.next_start
    assert pauses == [2.0, 4.0, 8.0, 16.0]
    start(pace, now)
    pace.answered()
    pace.busy("status 503", start(pace, now), now, None)
    assert pace.next_start - now == 2.0


def test_retry_after_is_kept() -> None:
    pace = HostPoliteness(PolitenessRules())
    pace.busy("status 429", start(pace, 0.0), 1.0, 30.0)
    assert not pace.ready(30.9)
    assert pace.ready(31.0)


def test_requests_under_way_when_the_pause_began_do_not_count() -> None:
    pace = HostPoliteness(PolitenessRules(connections=6))
    started = [start(pace, 0.0) for _ in range(6)]
    for moment in started:
        pace.busy("status 429", moment, 1.0, None)
    assert pace.next_start == 3.0
    assert not pace.given_up


def test_busy_halves_the_connections_and_good_answers_return_them() -> None:
    pace = HostPoliteness(PolitenessRules(connections=4))
    pace.busy("status 429", start(pace, 0.0), 0.0, 0.0)
    start(pace, 1.0)
    start(pace, 1.0)
    assert pace.full
    for _ in range(20):
        pace.answered()
        start(pace, 1.0)
    assert not pace.full


@pytest.mark.parametrize(("retry_after", "given_up"), [(3600.0, False), (86400.0, True)])
def test_a_host_that_asks_for_a_day_is_given_up(retry_after: float, given_up: bool) -> None:
    pace = HostPoliteness(PolitenessRules())
    pace.busy("status 503", start(pace, 0.0), 0.0, retry_after)
    assert bool(pace.given_up) is given_up
    if given_up:
        assert pace.given_up == "status 503: asks to come back in 86400 s"


def test_a_host_always_busy_is_given_up_within_minutes() -> None:
    pace = HostPoliteness(PolitenessRules())
    now = 0.0
    while not pace.given_up:
        pace.busy("status 429", start(pace, now), now, None)
        now = max(now, pace.next_start)
    assert pace.given_up == "busy 7 times in a row, last: status 429"
    assert now < 300


def test_a_dead_host_is_given_up_after_failures_in_a_row() -> None:
    pace = HostPoliteness(PolitenessRules())
    now, pauses = 0.0, []
    while not pace.given_up:
        pace.failed("refused", start(pace, now), now)
        pauses.append(max(0.0, pace.next_start - now))
        now = max(now, pace.next_start)
    assert pace.given_up == "7 network failures in a row, last: refused"
    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 0.0]


def test_one_failure_among_answers_pauses_nothing() -> None:
    pace = HostPoliteness(PolitenessRules())
    for k in range(40):
        now = float(k)
        pace.failed("stalled", start(pace, now), now)
        assert pace.ready(now)
        start(pace, now)
        pace.answered()
        start(pace, now)
        pace.answered()
    assert not pace.given_up


def test_a_host_of_errors_is_given_up_by_their_share() -> None:
    pace = HostPoliteness(PolitenessRules())
    for fetches in range(1, 1000):
        start(pace, 0.0)
        if fetches % 5 < 2:
            pace.answered()
        else:
            pace.erred("status 500")
        if pace.given_up:
            break
    assert 50 <= fetches < 55
    assert "errors, last: status 500" in pace.given_up


def test_a_host_with_some_errors_is_not() -> None:
    pace = HostPoliteness(PolitenessRules())
    for k in range(2000):
        start(pace, 0.0)
        if k % 5 < 3:
            pace.answered()
        else:
            pace.erred("status 500")
    assert not pace.given_up


def test_a_host_given_up_lets_its_urls_go() -> None:
    pace = HostPoliteness(PolitenessRules(connections=1))
    pace.busy("status 503", start(pace, 0.0), 0.0, 1e6)
    assert pace.ready(0.0)


def test_excused_fetches_say_nothing() -> None:
    pace = HostPoliteness(PolitenessRules())
    for _ in range(100):
        start(pace, 0.0)
        pace.excused()
    assert not pace.given_up
    assert pace.next_start == 0.0


class PaceMachine(RuleBasedStateMachine):
    """Any order of endings: counts stay right, pauses are bounded, verdicts are final."""

    def __init__(self) -> None:
        super().__init__()
        self.pace_rules = PolitenessRules(connections=3, delay=0.5)
        self.pace = HostPoliteness(self.pace_rules)
        self.now = 0.0
        self.started: list[float] = []
        self.verdict = ""

    @rule(seconds=st.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.pace.ready(self.now) and not self.pace.given_up)
    @rule()
    def begin(self) -> None:
        self.pace.started(self.now)
        self.started.append(self.now)

    @precondition(lambda self: self.started)
    @rule(
        ending=st.sampled_from(["answered", "erred", "failed", "busy", "excused"]),
        retry_after=st.none() | st.floats(0, 4000),
    )
    def end(self, ending: str, retry_after: float | None) -> None:
        started = self.started.pop(0)
        if ending == "busy":
            self.pace.busy("status 429", started, self.now, retry_after)
        elif ending == "failed":
            self.pace.failed("closed", started, self.now)
        elif ending == "erred":
            self.pace.erred("status 500")
        elif ending == "answered":
            self.pace.answered()
        else:
            self.pace.excused()

    @rule(seconds=st.floats(0, 1000))
    def learn(self, seconds: float) -> None:
        self.pace.crawl_delay(seconds)

    @invariant()
    def holds(self) -> None:
        self.pace.check()
        assert self.pace.in_flight == len(self.started)
        assert self.pace.next_start <= self.now + self.pace_rules.longest_pause
        if self.verdict:
            assert self.pace.given_up == self.verdict
        self.verdict = self.pace.given_up


TestPace = PaceMachine.TestCase
TestPace.settings = settings(max_examples=50, deadline=None)


@given(st.integers(1, 10))
def test_a_new_host_is_ready_at_any_time(connections: int) -> None:
    assert HostPoliteness(PolitenessRules(connections=connections)).ready(-math.inf)


def test_what_is_polite_bounds_the_requests_to_come() -> None:
    pace = HostPoliteness(PolitenessRules.for_site(Site("a", delay=Seconds(0.2))))
    pace.took(0.4)
    assert pace.seconds_per_request == 0.2, "the user's word on delay holds"
    polite = HostPoliteness(PolitenessRules.for_site(Site("a")))
    nearby = polite.seconds_per_request
    polite.took(0.4)
    assert (nearby, polite.seconds_per_request) == (0.01, 0.4)
    polite.crawl_delay(3.0)
    assert polite.seconds_per_request == 3.0
