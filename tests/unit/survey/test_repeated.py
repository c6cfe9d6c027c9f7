"""A repeated survey knows where the first was rich."""

from __future__ import annotations

from headgate.frontier.pacing import PaceRules
from headgate.lab.worlds.virtual_web import VirtualWeb, make_web
from headgate.survey.answers import RobotsAnswer
from headgate.survey.commands import Command, Done, Fetch, LearnRobots
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.survey_rules import SurveyRules
from headgate.survey.surveyor import Surveyor

_RULES = SurveyRules(slots=1, most_requests=10**9, most_bytes=10**15, pace=PaceRules(connections=1))


def _survey(web: VirtualWeb, earlier: list[SurveyEntry]) -> list[SurveyEntry]:
    surveyor = Surveyor(_RULES)
    surveyor.remember(earlier)
    surveyor.start(web.starts())
    log: list[SurveyEntry] = []
    commands: list[Command] = surveyor.begin(0.0)
    while not isinstance(command := commands[0], Done):
        match command:
            case LearnRobots(server=server, origin=place):
                answer = RobotsAnswer(lambda _: True, requests=0)
                commands = surveyor.robots_learned(server, place, answer, 0.0)
            case Fetch(server=server, asked=asked):
                page = web.page_of(asked.url)
                assert page is not None
                links = [(f"http://{web.host_name(h)}/", "") for h in web.external(page)]
                links += [(web.url(child), "") for child in web.children(page)]
                harvest, commands = surveyor.page(server, asked, links, 1000, 0.0)
                tree = surveyor.trees[server]
                entry = SurveyEntry(
                    tree.domain, tree.start, 0, asked.url, asked.kind.depth, Ending.PAGE, 0.0, 200,
                    new_hosts=harvest.new_hosts,
                )  # fmt: skip
                log.append(entry)
    return log


def _pages_for(share: float, log: list[SurveyEntry]) -> int:
    wanted = share * sum(len(entry.new_hosts) for entry in log)
    found = 0
    for count, entry in enumerate(log, 1):
        found += len(entry.new_hosts)
        if found >= wanted:
            return count
    raise AssertionError("the share was not reached")


def test_the_second_survey_needs_fewer_pages_for_the_same_share() -> None:
    before = after = 0
    for seed in (80, 82):
        web = make_web(seed, sites=40)
        first = _survey(web, [])
        second = _survey(web, first)
        assert {e.url for e in first} == {e.url for e in second}
        before += _pages_for(0.8, first)
        after += _pages_for(0.8, second)
    assert after < 0.6 * before
