"""Events in, commands out: one story each."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import (
    FINISHED,
    Done,
    ErrorStatus,
    Fetch,
    FetchFailed,
    Found,
    GiveUp,
    JournalEntry,
    LearnRobots,
    PageFetched,
    Redirected,
    RobotsLearned,
    Seeds,
    Slots,
    Stop,
    Tick,
    UrlOutcome,
    Wait,
)
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.scope import Scope
from headgate.model.fetch import FailureKind
from headgate.model.site import Site


def started(scope: Scope | None = None, **options: object) -> Driver:
    driver = Driver(scope, rules(**options))  # type: ignore[arg-type]
    driver.send(Seeds([HOME]))
    return driver


def test_a_site_of_three_pages() -> None:
    driver = Driver()
    assert driver.send(Seeds([HOME])) == [Fetch(HOME, 0)]
    commands = driver.send(PageFetched(HOME, urls("x", "y", "")))
    assert commands == [Fetch(HOME + "x", 1), Fetch(HOME + "y", 1)]
    assert driver.send(PageFetched(HOME + "x", urls("y", ""))) == []
    assert driver.send(PageFetched(HOME + "y")) == [Done(FINISHED)]
    assert driver.journal == [
        JournalEntry(UrlOutcome.FOUND, found=[HOME], depth=0),
        JournalEntry(UrlOutcome.PAGE, HOME, urls("x", "y"), 1),
        JournalEntry(UrlOutcome.PAGE, HOME + "x", [], 2),
        JournalEntry(UrlOutcome.PAGE, HOME + "y", [], 2),
    ]
    tally = driver.frontier.tally
    assert (tally.seen, tally.accepted, tally.to_do, tally.in_flight) == (3, 3, 0, 0)
    assert tally.outcomes == {UrlOutcome.PAGE: 3}


def test_nothing_to_do() -> None:
    assert Driver().send(Tick()) == [Done(FINISHED)]
    driver = Driver()
    assert driver.send(Seeds(["ftp://a.org/"])) == [Done(FINISHED)]
    assert driver.journal == []
    assert driver.frontier.tally.refused == {"out of scope": 1}


def test_seeds_told_twice_change_nothing() -> None:
    driver = started()
    assert driver.send(Seeds([HOME])) == []
    assert len(driver.journal) == 1


def test_an_ending_nobody_waits_for_is_refused() -> None:
    driver = started()
    with pytest.raises(ValueError, match="not in flight"):
        driver.frontier.handle(PageFetched(HOME + "x"), 0.0)


def test_slots_bound_what_is_in_flight() -> None:
    driver = started(slots=2)
    driver.send(PageFetched(HOME, urls("1", "2", "3", "4", "5")))
    assert driver.in_flight == urls("1", "2")
    driver.send(Slots(4))
    assert driver.in_flight == urls("1", "2", "3", "4")
    driver.send(Slots(1))
    driver.send(PageFetched(HOME + "1"))
    assert driver.in_flight == urls("2", "3", "4")


def test_breadth_first() -> None:
    driver = started(slots=1)
    driver.send(PageFetched(HOME, urls("a", "b")))
    driver.send(PageFetched(HOME + "a", urls("a1", "a2")))
    assert driver.in_flight == urls("b")
    driver.send(PageFetched(HOME + "b", urls("b1")))
    order = []
    while driver.in_flight:
        order += driver.in_flight
        driver.send(PageFetched(driver.in_flight[0]))
    assert order == urls("a1", "a2", "b1")


def test_a_maximum_depth_makes_levels_strict() -> None:
    driver = started(Scope([HOME], depth=2))
    driver.send(PageFetched(HOME, urls("a", "b")))
    driver.send(PageFetched(HOME + "a", urls("deep")))
    assert driver.in_flight == urls("b")
    driver.send(PageFetched(HOME + "b", urls("deep", "deep2")))
    assert driver.in_flight == urls("deep", "deep2")
    driver.send(PageFetched(HOME + "deep", urls("deeper")))
    assert driver.send(PageFetched(HOME + "deep2")) == [Done(FINISHED)]
    assert HOME + "deeper" not in [url for entry in driver.journal for url in entry.found]


def test_depth_zero_fetches_the_seeds_alone() -> None:
    driver = started(Scope([HOME], depth=0))
    assert driver.send(Found(urls("from-sitemap"))) == []
    assert driver.send(PageFetched(HOME, urls("a"))) == [Done(FINISHED)]


def test_found_urls_are_judged_like_links() -> None:
    driver = started()
    driver.send(Found([*urls("a", "a", "b/c/b/c/b/c/"), "http://b.org/"]))
    assert driver.frontier.tally.refused == {"repeating segments": 1, "other host": 1}
    assert (driver.last.outcome, driver.last.found, driver.last.depth) == (
        UrlOutcome.FOUND, urls("a"), 1
    )  # fmt: skip
    assert [reason for reason, *_ in driver.last.refused] == ["other host", "repeating segments"]
    driver.send(Found(urls("a")))
    assert len(driver.journal) == 2


def test_a_refused_url_is_judged_once() -> None:
    driver = started(Scope([HOME], exclude=["/login"]))
    driver.send(PageFetched(HOME, urls("login", "a", "b")))
    driver.send(PageFetched(HOME + "a", urls("login")))
    assert driver.frontier.tally.refused == {"out of scope": 1}


def test_session_ids_make_no_new_pages() -> None:
    driver = started()
    driver.send(PageFetched(HOME, urls("x?PHPSESSID=1", "x?PHPSESSID=2")))
    assert driver.last.found == urls("x")
    driver.send(PageFetched(HOME + "x", urls("x?PHPSESSID=3", "?PHPSESSID=3")))
    assert driver.last.found == []


# Duplicates


def test_duplicates_are_recorded_and_followed_up_to_a_bound() -> None:
    driver = Driver(site_rules=replace(rules(), copies_followed=2))
    driver.send(Seeds(urls("1/", "2/", "3/")))
    for folder in ("1/", "2/", "3/"):
        driver.send(PageFetched(HOME + folder, urls(folder + "x"), b"same digest 0123"))
    outcomes = [(entry.outcome, len(entry.found)) for entry in driver.journal[1:]]
    assert outcomes == [(UrlOutcome.PAGE, 1), (UrlOutcome.DUPLICATE, 1), (UrlOutcome.DUPLICATE, 0)]


# Redirects


def test_a_redirect_goes_next_at_the_same_depth() -> None:
    driver = started(slots=1)
    driver.send(PageFetched(HOME, urls("old", "b")))
    commands = driver.send(Redirected(HOME + "old", HOME + "new"))
    assert commands == [Fetch(HOME + "new", 1, hops=1)]
    assert driver.last == JournalEntry(UrlOutcome.REDIRECT, HOME + "old", urls("new"), 1)


def test_a_redirect_loop_ends() -> None:
    driver = started()
    driver.send(Redirected(HOME, HOME + "a"))
    driver.send(Redirected(HOME + "a", HOME + "b"))
    assert driver.send(Redirected(HOME + "b", HOME)) == [Done(FINISHED)]
    assert driver.last.detail == "target met before or refused"


def test_an_endless_chain_of_redirects_ends() -> None:
    driver = started()
    for hop in range(10):
        (fetch,) = driver.flights
        assert fetch.hops == hop
        driver.send(Redirected(fetch.url, f"{HOME}{hop}"))
    assert driver.send(Redirected(f"{HOME}9", f"{HOME}10")) == [Done(FINISHED)]
    assert driver.last.detail == "too many redirects"


def test_a_redirect_to_itself_is_a_try() -> None:
    driver = started()
    assert driver.send(Redirected(HOME, HOME)) == [Wait(1.0)]
    driver.now = 1.0
    assert driver.send(Tick()) == [Fetch(HOME, 0, tries=1)]
    assert driver.send(PageFetched(HOME)) == [Done(FINISHED)]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "", "http://b.org/", "ftp://a.org/"])
def test_a_redirect_out_of_the_site_is_not_followed(target: str) -> None:
    driver = started()
    driver.send(PageFetched(HOME, urls("x")))
    assert driver.send(Redirected(HOME + "x", target)) == [Done(FINISHED)]
    assert driver.last.found == ()


def test_a_seeds_redirect_takes_its_host_along() -> None:
    driver = started()
    assert driver.send(Redirected(HOME, "https://b.org/")) == [Fetch("https://b.org/", 0, hops=1)]
    commands = driver.send(PageFetched("https://b.org/", ["https://b.org/x", HOME + "y"]))
    assert commands == [Fetch("https://b.org/x", 1), Fetch(HOME + "y", 1)]


# Robots


def test_robots_come_first() -> None:
    driver = Driver(site_rules=rules(robots=True))
    assert driver.send(Seeds([HOME, HOME + "private/x"])) == [LearnRobots("http://a.org")]
    assert driver.send(Tick()) == []
    commands = driver.send(RobotsLearned("http://a.org", lambda url: "/private/" not in url))
    assert commands == [Fetch(HOME, 0)]
    assert driver.frontier.tally.dropped == {"robots.txt": 1}
    assert driver.send(PageFetched(HOME)) == [Done(FINISHED)]


def test_each_origin_has_its_own_robots() -> None:
    driver = Driver(site_rules=rules(robots=True))
    commands = driver.send(Seeds([HOME, "https://a.org/", "http://b.org/"]))
    assert commands == [
        LearnRobots("http://a.org"),
        LearnRobots("https://a.org"),
        LearnRobots("http://b.org"),
    ]
    assert driver.send(RobotsLearned("http://b.org", lambda _: True)) == [Fetch("http://b.org/", 0)]


def test_rules_of_an_origin_hold_for_it_alone() -> None:
    driver = Driver(Scope([HOME, "http://b.org/"]), rules(robots=True))
    driver.send(Seeds([HOME, "http://b.org/"]))
    driver.send(RobotsLearned("http://a.org", lambda url: not url.endswith("x")))
    driver.send(RobotsLearned("http://b.org", lambda url: not url.endswith("y")))
    driver.send(PageFetched("http://b.org/"))
    commands = driver.send(PageFetched(HOME, [*urls("x", "y"), "http://b.org/x", "http://b.org/y"]))
    assert set(commands) == {Fetch(HOME + "y", 1), Fetch("http://b.org/x", 1)}
    assert driver.frontier.tally.dropped == {"robots.txt": 2}


def test_a_site_closed_by_robots_ends_in_portions() -> None:
    driver = Driver(site_rules=rules(robots=True))
    driver.send(Seeds([f"{HOME}{k}" for k in range(65)]))
    assert driver.send(RobotsLearned("http://a.org", lambda _: False)) == [Wait(0.0)]
    assert driver.send(Tick()) == [Wait(0.0)]
    assert driver.send(Tick()) == [Done(FINISHED)]
    assert driver.frontier.tally.dropped == {"robots.txt": 65}


def test_crawl_delay_spaces_fetches() -> None:
    driver = Driver(site_rules=rules(robots=True))
    driver.send(Seeds(urls("a", "b")))
    driver.send(RobotsLearned("http://a.org", lambda _: True, crawl_delay=10.0))
    driver.now = 3.0
    assert driver.send(PageFetched(HOME + "a")) == [Wait(10.0)]
    driver.now = 10.0
    assert driver.send(Tick()) == [Fetch(HOME + "b", 0)]


# Retries and hosts in trouble


def test_a_momentary_failure_is_tried_three_times() -> None:
    driver = started()
    assert driver.send(FetchFailed(HOME, FailureKind.STALLED)) == [Wait(1.0)]
    driver.now = 1.0
    assert driver.send(Tick()) == [Fetch(HOME, 0, tries=1)]
    assert driver.send(FetchFailed(HOME, FailureKind.STALLED)) == [Wait(5.0)]
    driver.now = 5.0
    assert driver.send(Tick()) == [Fetch(HOME, 0, tries=2)]
    assert driver.send(FetchFailed(HOME, FailureKind.STALLED)) == [Done(FINISHED)]
    assert driver.last == JournalEntry(UrlOutcome.FAILURE, HOME, detail="stalled")


@pytest.mark.parametrize("kind", [FailureKind.TLS, FailureKind.BAD_URL, FailureKind.TOO_SLOW])
def test_a_lasting_failure_is_not_tried_again(kind: FailureKind) -> None:
    driver = started()
    assert driver.send(FetchFailed(HOME, kind)) == [Done(FINISHED)]


@pytest.mark.parametrize(
    ("status", "again"), [(404, False), (410, False), (500, True), (408, True)]
)
def test_error_statuses(status: int, again: bool) -> None:
    driver = started()
    commands = driver.send(ErrorStatus(HOME, status))
    assert commands == ([Wait(1.0)] if again else [Done(FINISHED)])
    assert driver.frontier.tally.outcomes == ({} if again else {UrlOutcome.ERROR: 1})


def test_a_busy_host_gets_its_url_again_after_the_pause() -> None:
    driver = started()
    assert driver.send(ErrorStatus(HOME, 503, retry_after=30.0)) == [Wait(30.0)]
    driver.now = 30.0
    assert driver.send(Tick()) == [Fetch(HOME, 0, busy_answers=1)]


def test_a_single_url_that_stays_busy_ends() -> None:
    driver = Driver(site_rules=rules(slots=2))
    driver.send(Seeds([HOME, *[f"{HOME}{k}" for k in range(50)]]))
    answers = 0
    while HOME not in [entry.url for entry in driver.journal]:
        commands = driver.send(
            ErrorStatus(HOME, 503) if HOME in driver.in_flight else PageFetched(driver.in_flight[0])
        )
        answers += 1
        for command in commands:
            if isinstance(command, Wait):
                driver.now = command.until
                driver.send(Tick())
    assert driver.last == JournalEntry(UrlOutcome.ERROR, HOME, detail="status 503")
    assert not driver.frontier.tally.given_up
    assert answers < 50


def test_a_dead_host_is_given_up_and_its_urls_dropped() -> None:
    driver = Driver(site_rules=rules(slots=1))
    seeds = [f"{HOME}{k}" for k in range(20)]
    commands = driver.send(Seeds(seeds))
    seen_give_up = []
    for _ in range(100):
        if Done(FINISHED) in commands:
            break
        seen_give_up += [command for command in commands if isinstance(command, GiveUp)]
        waits = [command.until for command in commands if isinstance(command, Wait)]
        driver.now = max([driver.now, *waits])
        commands = driver.send(
            FetchFailed(driver.in_flight[0], FailureKind.REFUSED) if driver.in_flight else Tick()
        )
    seen_give_up += [command for command in commands if isinstance(command, GiveUp)]
    assert seen_give_up == [GiveUp("a.org", "7 network failures in a row, last: refused")]
    tally = driver.frontier.tally
    assert tally.given_up == {"a.org": "7 network failures in a row, last: refused"}
    assert tally.dropped["host given up"] + tally.outcomes[UrlOutcome.FAILURE] == 20


def test_the_others_in_flight_when_a_host_is_given_up_land_too() -> None:
    driver = Driver(site_rules=rules(slots=3))
    driver.send(Seeds(urls("1", "2", "3", "4")))
    commands = driver.send(ErrorStatus(HOME + "1", 503, retry_after=1e6))
    assert commands == [GiveUp("a.org", "status 503: asks to come back in 1000000 s")]
    assert driver.send(FetchFailed(HOME + "2", FailureKind.CLOSED)) == []
    assert driver.send(PageFetched(HOME + "3", urls("5"))) == [Done(FINISHED)]
    assert driver.frontier.tally.dropped == {"host given up": 2}


def test_one_slow_host_does_not_hold_up_another() -> None:
    scope = Scope([HOME, "http://b.org/"])
    driver = Driver(scope, rules(slots=2, pace=PolitenessRules(delay=100.0)))
    commands = driver.send(Seeds([*urls("1", "2", "3"), "http://b.org/"]))
    assert commands == [Fetch(HOME + "1", 0), Fetch("http://b.org/", 0)]


def test_hosts_take_turns() -> None:
    scope = Scope([HOME, "http://b.org/"])
    driver = Driver(scope, rules(slots=4))
    driver.send(Seeds([*urls("1", "2", "3"), "http://b.org/1", "http://b.org/2"]))
    assert driver.in_flight == [HOME + "1", "http://b.org/1", HOME + "2", "http://b.org/2"]


def test_connections_of_a_host_are_bounded_over_its_origins() -> None:
    driver = Driver(site_rules=rules(pace=PolitenessRules(connections=2)))
    driver.send(Seeds([*urls("1", "2"), "https://a.org/1", "https://a.org/2"]))
    assert len(driver.in_flight) == 2


def test_a_host_is_asked_again_when_it_has_had_its_usual_time() -> None:
    pace = PolitenessRules.for_site(Site("a"))
    driver = Driver(site_rules=rules(robots=True, pace=pace))
    driver.send(Seeds(urls("1", "2", "3", "4")))
    learned = RobotsLearned("http://a.org", lambda _: True, public=True)
    assert driver.send(learned) == [Fetch(HOME + "1", 0)]
    driver.now = 0.04
    assert driver.send(PageFetched(HOME + "1", answer_seconds=0.03)) == [Wait(0.1)]
    driver.now = 0.1
    assert driver.send(Tick()) == [Fetch(HOME + "2", 0), Wait(0.2)]
    driver.now = 0.2
    assert driver.send(Tick()) == [Fetch(HOME + "3", 0), Wait(0.2 + 0.1)]


# Stopping


def test_stop_lets_what_is_under_way_land() -> None:
    driver = started()
    driver.send(PageFetched(HOME, urls("a", "b")))
    assert driver.send(Stop("deadline")) == []
    assert driver.send(PageFetched(HOME + "a", urls("c"))) == []
    assert driver.last.found == urls("c")
    assert driver.send(PageFetched(HOME + "b")) == [Done("deadline")]
    assert driver.frontier.tally.to_do == 1
