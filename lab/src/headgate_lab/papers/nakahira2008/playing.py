"""A survey of a virtual web, played by the surveyor that surveys the real one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.features.survey.strategy.events import (
    Command,
    FetchPage,
    FetchRobots,
    Harvest,
    PageCame,
    RobotsAnswer,
    RobotsCame,
)
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.server_tree import ChosenPage, ServerTree
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.events import Done, Tick
from headgate.frontier.politeness import PolitenessRules
from headgate_lab.worlds.virtual_web import VirtualWeb

__all__ = ["Survey", "play"]

_SAMPLE_EVERY = 500
_PAGE_BYTES = 10_000
_WITHOUT_CAPS = SurveyRules(
    rounds=0,
    slots=1,
    most_requests=10**9,
    most_bytes=10**15,
    pace=PolitenessRules(connections=1),
)
_ALL_ALLOWED = RobotsAnswer(lambda _: True, requests=0)


@dataclass(frozen=True, slots=True)
class Survey:
    """How a survey went, page by page."""

    pages: npt.NDArray[np.int64]
    """Fetched, at each sample."""
    hosts: npt.NDArray[np.int64]
    """Found by then."""

    def load_at(self, share: float, web: VirtualWeb) -> float:
        """The part of the web's pages that had to be fetched for a share of its hosts."""
        wanted = share * web.hosts_by_depth().sum()
        if self.hosts[-1] < wanted:
            return float("nan")
        return float(np.interp(wanted, self.hosts, self.pages)) / web.pages


def play(
    web: VirtualWeb,
    rules: SurveyRules = _WITHOUT_CAPS,
    until: float = 1.0,
    earlier: Iterable[SurveyEntry] = (),
    log: list[SurveyEntry] | None = None,
) -> Survey:
    """One page after the other, answers at once. ``earlier``: the log of a survey before this
    one; ``log`` takes this one's."""
    surveyor = Surveyor(replace(rules, until=until))
    surveyor.remember(earlier)
    surveyor.start(web.starts())
    outside = [f"http://{web.host_name(number)}/" for number in range(web.hosts)]
    pages, hosts = [0], [0]
    fetched = 0
    commands: list[Command] = surveyor.handle(Tick(), 0.0).commands
    while True:
        command = commands[0]
        match command:
            case FetchRobots(server=server, origin=place):
                learned = RobotsCame(server, place, _ALL_ALLOWED)
                commands = surveyor.handle(learned, 0.0).commands
            case FetchPage(server=server, asked=asked):
                page = web.page_of(asked.url)
                assert page is not None
                links = [(outside[number], "") for number in web.external(page)]
                links += [(web.url(child), "") for child in web.children(page)]
                decided = surveyor.handle(PageCame(server, asked, _PAGE_BYTES, links), 0.0)
                commands = decided.commands
                fetched += 1
                if log is not None:
                    log.append(_entry(surveyor.trees[server], asked, decided.harvest))
            case Done():
                break
            case _:
                raise AssertionError(f"nothing to wait for, yet: {command}")
        if fetched >= pages[-1] + _SAMPLE_EVERY:
            pages.append(fetched)
            hosts.append(len(surveyor.hosts))
    return Survey(np.array([*pages, fetched]), np.array([*hosts, len(surveyor.hosts)]))


def _entry(tree: ServerTree, asked: ChosenPage, harvest: Harvest) -> SurveyEntry:
    return SurveyEntry(
        tree.domain,
        tree.start,
        round=tree.round,
        url=asked.url,
        depth=asked.kind.depth,
        ending=RequestEnding.PAGE,
        wall_time=0.0,
        status=200,
        new_hosts=harvest.new_hosts,
    )
