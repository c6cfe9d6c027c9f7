"""What a frontier leaves out, and what it says of it."""

from __future__ import annotations

from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import (
    FetchFailed,
    Found,
    PageFetched,
    Redirected,
    RobotsLearned,
    Seeds,
)
from headgate.frontier.scope import Scope
from headgate.frontier.url_filter import SkippedUrls
from headgate.model.fetch import FailureKind
from headgate.model.run_report import LeftOut


def left_out(driver: Driver) -> dict[str, LeftOut]:
    return driver.frontier.tally.left_out


def started(scope: Scope | None = None) -> Driver:
    driver = Driver(scope)
    driver.send(Seeds([HOME]))
    return driver


def test_links_to_other_hosts_count_once() -> None:
    driver = started()
    driver.send(PageFetched(HOME, ["http://b.org/", "http://b.org/x", HOME + "a", HOME + "b"]))
    driver.send(PageFetched(HOME + "a", ["http://b.org/x", "http://c.org/"]))
    found = left_out(driver)["other host"]
    assert found == LeftOut(3, ("http://b.org/", "http://b.org/x", "http://c.org/"))


def test_a_host_that_joins_by_a_seeds_redirect_takes_in_links_met_before() -> None:
    driver = Driver()
    driver.send(Seeds([HOME + "1", HOME + "2"]))
    driver.send(PageFetched(HOME + "1", ["http://b.org/x"]))
    driver.send(Redirected(HOME + "2", "http://b.org/"))
    driver.send(PageFetched("http://b.org/", ["http://b.org/x"]))
    assert "http://b.org/x" in driver.in_flight


def test_scope_depth_and_traps_have_their_own_counts() -> None:
    driver = started(Scope([HOME], exclude=["/no/"], depth=1))
    long = HOME + "x" * 3000
    driver.send(PageFetched(HOME, [*urls("no/1", "no/2", "a", "2040/05/01"), long]))
    driver.send(PageFetched(HOME + "a", urls("deep/1", "deep/2", "a", "")))
    driver.send(Found(urls("deep/2", "deep/3"), depth=2))
    found = left_out(driver)
    assert found["out of scope"] == LeftOut(2, tuple(urls("no/1", "no/2")))
    assert found["calendar without end"].count == 1
    assert found["too long"] == LeftOut(1, (long[:200],))
    assert found["beyond depth"] == LeftOut(3, tuple(urls("deep/1", "deep/2", "deep/3")))


def test_nofollow_counts_what_is_not_known_otherwise() -> None:
    driver = started()
    marked = [*urls("a", "edit"), "http://b.org/"]
    driver.send(PageFetched(HOME, urls("a"), unfollowed=marked))
    driver.send(PageFetched(HOME + "a", unfollowed=urls("edit", "edit/a", "")))
    assert left_out(driver) == {"nofollow": LeftOut(2, tuple(urls("edit", "edit/a")))}


def test_robots_rules_and_hosts_without_them_are_told_apart() -> None:
    driver = Driver(Scope([HOME, "http://b.org/"]), rules(robots=True))
    driver.send(Seeds([HOME + "1", "http://b.org/1"]))
    driver.send(RobotsLearned("http://a.org", lambda _: False))
    driver.send(RobotsLearned("http://b.org", lambda _: False, unreachable=True))
    found = left_out(driver)
    assert found["robots.txt"] == LeftOut(1, (HOME + "1",))
    assert found["host given up"] == LeftOut(1, ("http://b.org/1",))


def test_what_was_not_wanted_is_no_failure_and_is_not_tried_again() -> None:
    driver = started()
    driver.send(PageFetched(HOME, urls("zip", "big")))
    driver.send(FetchFailed(HOME + "zip", FailureKind.UNWANTED_TYPE))
    driver.send(FetchFailed(HOME + "big", FailureKind.TOO_LARGE))
    found = left_out(driver)
    assert found["unwanted-type"] == LeftOut(1, (HOME + "zip",))
    assert found["too-large"] == LeftOut(1, (HOME + "big",))
    assert not driver.flights


def test_a_resumed_run_remembers() -> None:
    driver = started(Scope([HOME], exclude=["/no/"]))
    driver.send(PageFetched(HOME, ["http://b.org/", *urls("no/1", "zip", "edit", "a")]))
    driver.send(FetchFailed(HOME + "zip", FailureKind.UNWANTED_TYPE))
    driver.send(PageFetched(HOME + "a", unfollowed=urls("secret")))
    again = Driver(Scope([HOME], exclude=["/no/"]))
    again.frontier.replay(lambda: driver.journal)
    assert left_out(again) == left_out(driver)
    assert {reason: found.count for reason, found in left_out(again).items()} == {
        "other host": 1, "out of scope": 1, "nofollow": 1, "unwanted-type": 1,
    }  # fmt: skip


def test_copies_whose_links_are_not_followed_are_counted_in_both_legs() -> None:
    driver = Driver()
    pages = urls(*map(str, range(20)))
    driver.send(Seeds(pages))
    while driver.flights:
        driver.send(PageFetched(driver.flights[0].url, digest=b"the same"))
    assert left_out(driver)["links of a copy"].count == 20 - 16
    again = Driver()
    again.frontier.replay(lambda: driver.journal)
    assert left_out(again) == left_out(driver)


def test_memory_is_bounded() -> None:
    omissions = SkippedUrls()
    for k in range(1000):
        omissions.record("nofollow", [f"http://a.org/{k}/" + "x" * 5000] * 7)
    (found,) = omissions.report().values()
    assert found.count == 7000
    assert len(found.examples) == 3
    assert max(map(len, found.examples)) == 200
