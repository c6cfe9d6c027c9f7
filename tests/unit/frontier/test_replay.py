"""A frontier rebuilt from its journal goes on where the other stood."""

from __future__ import annotations

from collections.abc import Iterator

from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import (
    Fetch,
    FetchFailed,
    JournalEntry,
    PageFetched,
    Redirected,
    Seeds,
    Tick,
    UrlOutcome,
)
from headgate.frontier.scope import Scope
from headgate.model.fetch import FailureKind


def resumed(before: Driver, scope: Scope | None = None) -> Driver:
    after = Driver(scope, rules(slots=100))
    after.frontier.replay(lambda: before.journal)
    after.frontier.check()
    after.journal = list(before.journal)
    return after


def test_an_empty_journal_is_a_new_frontier() -> None:
    driver = resumed(Driver())
    assert driver.send(Seeds([HOME])) == [Fetch(HOME, 0)]


def test_in_flight_waiting_and_to_do_are_to_do_again_in_order() -> None:
    driver = Driver(site_rules=rules(slots=2))
    driver.send(Seeds([HOME]))
    driver.send(PageFetched(HOME, urls("retried", "in-flight", "done", "to-do"), b"d" * 16))
    driver.send(FetchFailed(HOME + "retried", FailureKind.STALLED))
    driver.send(PageFetched(HOME + "done", urls("deep")))
    after = resumed(driver)
    after.send(Tick())
    assert after.flights == [
        Fetch(HOME + "retried", 1),
        Fetch(HOME + "in-flight", 1),
        Fetch(HOME + "to-do", 1),
        Fetch(HOME + "deep", 2),
    ]
    tally = after.frontier.tally
    assert tally.outcomes == {UrlOutcome.PAGE: 2}
    assert (tally.accepted, tally.in_flight) == (6, 4)


def test_contents_are_remembered() -> None:
    driver = Driver()
    driver.send(Seeds(urls("1", "2")))
    driver.send(PageFetched(HOME + "1", (), b"same digest 0123"))
    after = resumed(driver)
    after.send(Tick())
    after.send(PageFetched(HOME + "2", (), b"same digest 0123"))
    assert after.last.outcome is UrlOutcome.DUPLICATE


def test_a_page_stored_before_the_one_that_led_to_it_is_not_fetched_again() -> None:
    journal = [
        JournalEntry(UrlOutcome.FOUND, found=[HOME], depth=0),
        JournalEntry(UrlOutcome.PAGE, HOME + "child", [], 2),
    ]
    after = Driver()
    after.frontier.replay(lambda: journal)
    assert after.send(Tick()) == [Fetch(HOME, 0)]
    after.send(PageFetched(HOME, urls("child", "other")))
    assert after.last.found == urls("other")


def test_hosts_that_joined_by_a_seeds_redirect_stay_in_the_site() -> None:
    driver = Driver()
    driver.send(Seeds([HOME]))
    driver.send(Redirected(HOME, "https://b.org/"))
    after = resumed(driver)
    assert after.send(Tick()) == [Fetch("https://b.org/", 0)]
    after.send(PageFetched("https://b.org/", ["https://b.org/x"]))
    assert after.in_flight == ["https://b.org/x"]


def test_a_journal_with_an_entry_twice_does_not_double_urls() -> None:
    journal = [
        JournalEntry(UrlOutcome.FOUND, found=urls("a", "b"), depth=0),
        JournalEntry(UrlOutcome.FOUND, found=urls("b", "c"), depth=0),
    ]
    after = Driver()
    after.frontier.replay(lambda: journal)
    after.send(Tick())
    assert after.in_flight == urls("a", "b", "c")


def test_many_entries_stream_through() -> None:
    """Entries may come from a generator: nothing keeps them all."""

    def read() -> Iterator[JournalEntry]:
        yield JournalEntry(UrlOutcome.FOUND, found=[f"{HOME}0"], depth=0)
        for page in range(20_000):
            found = [f"{HOME}{page}/{k}" for k in range(3)] + [f"{HOME}{page + 1}"]
            yield JournalEntry(UrlOutcome.PAGE, f"{HOME}{page}", found, page + 1)

    driver = Driver()
    driver.frontier.replay(read)
    driver.frontier.check()
    tally = driver.frontier.tally
    assert tally.outcomes == {UrlOutcome.PAGE: 20_000}
    assert tally.to_do == 60_001
    assert driver.frontier._dispatch.waiting.todo.in_memory <= 1000
