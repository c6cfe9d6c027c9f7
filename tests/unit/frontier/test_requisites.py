"""What pages show is fetched wherever it may be, and makes nothing else part of the site."""

from __future__ import annotations

from tests.unit.frontier.driving import HOME, Driver, rules

from headgate.frontier.events import Asked, Found, PageFetched, Redirected, Seeds, Tick
from headgate.frontier.scope import Scope
from headgate.model.site import Requisites

PICTURE = "http://cdn.org/a.png"


def showing(which: Requisites = Requisites.PAGE, include: tuple[str, ...] = ()) -> Driver:
    driver = Driver(Scope([HOME], include, requisites=which), rules())
    driver.send(Seeds([HOME]))
    return driver


def resumed(driver: Driver) -> Driver:
    after = Driver(Scope([HOME], requisites=Requisites.PAGE), rules())
    after.frontier.replay(lambda: driver.journal)
    return after


def test_a_host_that_the_seed_shows_pictures_of_stays_a_strangers_after_a_resumption() -> None:
    before = showing()
    before.send(Found([PICTURE], 0, needed=True))
    after = resumed(before)
    after.send(Tick())
    assert sorted(after.in_flight) == [HOME, PICTURE]
    after.send(PageFetched(HOME, ["http://cdn.org/page"]))
    assert after.in_flight == [PICTURE]


def test_what_was_refused_as_a_link_is_fetched_once_a_page_shows_it() -> None:
    driver = showing(include=("/docs/",))
    driver.send(PageFetched(HOME, [PICTURE, HOME + "b.png"]))
    assert driver.in_flight == []
    driver.send(Found([PICTURE, HOME + "b.png"], 1, needed=True))
    assert driver.in_flight == [PICTURE, HOME + "b.png"]
    driver.send(Found([PICTURE, HOME + "b.png"], 1, needed=True))
    assert driver.in_flight == [PICTURE, HOME + "b.png"]


def test_only_hosts_of_the_site_are_asked_if_the_user_wants_that() -> None:
    driver = showing(Requisites.SAME_SITE)
    driver.send(Found([PICTURE, HOME + "b.png"], 0, needed=True))
    assert driver.in_flight == [HOME, HOME + "b.png"]
    driver.send(Redirected(HOME + "b.png", PICTURE))
    assert driver.in_flight == [HOME]


def test_a_requisite_may_redirect_to_another_host_which_stays_a_strangers() -> None:
    driver = showing()
    driver.send(Found([HOME + "b.png"], 0, needed=True))
    driver.send(Redirected(HOME + "b.png", PICTURE))
    assert driver.in_flight == [HOME, PICTURE]
    after = resumed(driver)
    for frontier in (driver, after):
        frontier.send(Tick())
        frontier.send(Redirected(PICTURE, "http://cdn.org/c.png"))
        frontier.send(PageFetched(HOME, ["http://cdn.org/page"]))
        assert frontier.in_flight == ["http://cdn.org/c.png"]


def test_exclude_holds_for_requisites() -> None:
    driver = Driver(Scope([HOME], exclude=["logo"], requisites=Requisites.PAGE), rules())
    driver.send(Found([HOME + "logo.png", HOME + "b.png"], 0, needed=True))
    assert driver.in_flight == [HOME + "b.png"]


def test_a_visit_asks_for_known_requisites_wherever_they_are() -> None:
    driver = Driver(Scope([HOME], requisites=Requisites.PAGE), rules())
    driver.send(Asked([HOME], 0))
    driver.send(Asked([PICTURE], 0, needed=True))
    assert driver.in_flight == [HOME, PICTURE]
    driver.send(PageFetched(HOME, ["http://cdn.org/page"]))
    assert driver.in_flight == [PICTURE]
    assert all(not entry.left for entry in driver.journal)


def test_a_visit_records_what_it_was_to_ask_for_and_is_out_of_scope() -> None:
    driver = Driver(Scope([HOME], exclude=["/b"]), rules())
    driver.send(Asked([HOME + "a", HOME + "b", PICTURE], 1))
    assert driver.in_flight == [HOME + "a"]
    assert driver.last.left == [HOME + "b", PICTURE]
    after = Driver(Scope([HOME], exclude=["/b"]), rules())
    after.frontier.replay(lambda: driver.journal)
    after.send(Tick())
    assert after.in_flight == [HOME + "a"]
