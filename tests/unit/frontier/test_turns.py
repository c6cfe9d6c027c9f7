"""A frontier whose fetches wait for turns: it says what could go, and begins one when told."""

from __future__ import annotations

from msgspec.structs import replace
from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import (
    Command,
    Done,
    Fetch,
    LearnRobots,
    PageFetched,
    Ready,
    Redirected,
    RobotsLearned,
    Seeds,
    Tick,
    Turn,
    Wait,
)
from headgate.frontier.frontier import FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.priority_queue import level_of


def in_turns(*, robots: bool = False, pace: PolitenessRules | None = None) -> FrontierRules:
    usual = rules(robots=robots, scored=True, pace=pace)
    return replace(usual, dispatch=replace(usual.dispatch, in_turns=True))


def ready(commands: list[Command]) -> str:
    """What could go, as its path; nothing: "-"."""
    found = [command.url for command in commands if isinstance(command, Ready)]
    return found[0].removeprefix(HOME) if found else "-"


def begun(commands: list[Command]) -> list[str]:
    return [command.url.removeprefix(HOME) for command in commands if isinstance(command, Fetch)]


def test_nothing_begins_without_a_turn_and_one_with_it() -> None:
    driver = Driver(site_rules=in_turns())
    assert driver.send(Seeds([HOME])) == [Ready(HOME, 0)]
    assert begun(driver.send(Tick())) == []
    assert begun(driver.send(Turn())) == [""]
    scores = dict(zip(urls("a", "b", "c"), (0.1, 0.9, 0.5), strict=True))
    landed = driver.send(PageFetched(HOME, urls("a", "b", "c"), scores=scores))
    assert begun(landed) == []
    assert [c for c in landed if isinstance(c, Ready)] == [Ready(HOME + "b", level_of(0.9))]
    turn = driver.send(Turn())
    assert begun(turn) == ["b"]
    assert ready(turn) == "c"


def test_what_comes_to_light_before_the_turn_goes_first() -> None:
    driver = Driver(site_rules=in_turns())
    driver.send(Seeds([HOME]))
    driver.send(Turn())
    driver.send(PageFetched(HOME, urls("a", "b"), scores=dict.fromkeys(urls("a", "b"), 0.4)))
    assert begun(driver.send(Turn())) == ["a"]
    driver.send(PageFetched(HOME + "a", urls("best"), scores={HOME + "best": 1.0}))
    assert begun(driver.send(Turn())) == ["best"]


def test_robots_rules_are_learned_without_a_turn() -> None:
    driver = Driver(site_rules=in_turns(robots=True))
    assert driver.send(Seeds([HOME])) == [LearnRobots("http://a.org")]
    assert begun(driver.send(Turn())) == []
    learned = RobotsLearned("http://a.org", lambda url: not url.endswith("no"))
    assert ready(driver.send(learned)) == ""
    driver.send(Turn())
    landed = driver.send(PageFetched(HOME, urls("no", "yes")))
    assert ready(landed) == "yes"


def test_a_delay_is_waited_for_and_then_it_is_ready() -> None:
    driver = Driver(site_rules=in_turns(pace=PolitenessRules(delay=5.0)))
    driver.send(Seeds([HOME]))
    driver.send(Turn())
    driver.now = 1.0
    landed = driver.send(PageFetched(HOME, urls("a")))
    assert ready(landed) == "-"
    assert Wait(5.0) in landed
    driver.now = 5.0
    assert ready(driver.send(Tick())) == "a"


def test_a_redirect_goes_through_the_queue_again() -> None:
    driver = Driver(site_rules=in_turns())
    driver.send(Seeds([HOME]))
    driver.send(Turn())
    landed = driver.send(Redirected(HOME, HOME + "moved"))
    assert (begun(landed), ready(landed)) == ([], "moved")


def test_a_turn_too_many_does_no_harm() -> None:
    driver = Driver(site_rules=in_turns())
    driver.send(Seeds([HOME]))
    driver.send(Turn())
    assert begun(driver.send(Turn())) == []
    assert driver.send(PageFetched(HOME)) == [Done("finished")]


def test_no_more_are_ready_than_pages_are_wanted() -> None:
    driver = Driver(site_rules=replace(in_turns(), max_pages=2))
    driver.send(Seeds([HOME]))
    driver.send(Turn())
    driver.send(PageFetched(HOME, urls("a", "b")))
    turn = driver.send(Turn())
    assert (len(begun(turn)), ready(turn)) == (1, "-")
    last = driver.send(PageFetched(driver.in_flight[0]))
    assert last == [Done("max_pages")]
