"""What the survey's order costs on real link graphs, and how deep it says that pages lie.

    python -m bench.survey_order [--docs FOLDER] [--tuned]

Surveys the documentation of fifteen Debian packages without a network (`bench.survey_graphs`), each
by itself and all in one survey, once by depth and once by yield. Depth 8, no caps. Printed: the
requests after which 80, 90, 95, 99 and 100 % of the hosts were found, in parts of all requests, by
depth and by yield, and what the second saves of the first. Then how many pages lie less deep than
the way that was taken to them, and how many the tables have elsewhere than a search breadth first
that shares nothing with Headgate's: none, or the exit code is 1.

``--tuned``: on the twenty packages that the order was set on, instead of those that nothing was.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from bench.survey_graphs import FRESH, TUNED, Answer, LinkGraph, documents

from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.features.survey.strategy.events import (
    Command,
    Event,
    FetchPage,
    FetchRobots,
    PageCame,
    PageMoved,
    PageRefused,
    RobotsAnswer,
    RobotsCame,
)
from headgate.features.survey.strategy.facts import LogDepths
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.events import Done, Tick
from headgate.frontier.politeness import PolitenessRules
from headgate.reading.urls import host

SHARES = (0.8, 0.9, 0.95, 0.99, 1.0)
_DEPTH = 8
_ALL_ALLOWED = RobotsAnswer(lambda _: True, requests=0)


@dataclass(slots=True)
class Walk:
    """One survey, request by request."""

    requests: int = 0
    found: list[int] = field(default_factory=list)
    """The request that brought each host."""
    log: list[SurveyEntry] = field(default_factory=list)

    def cost(self, share: float) -> int:
        """Requests until this share of the hosts was found."""
        return self.found[math.ceil(share * len(self.found)) - 1]


def walk(graphs: Sequence[LinkGraph], *, breadth_first: bool) -> Walk:
    """One page after the other, answers at once."""
    rules = SurveyRules(
        depth=_DEPTH, breadth_first=breadth_first, slots=1, most_requests=10**9,
        most_bytes=10**15, pace=PolitenessRules(connections=1, failure_limit=10**9),
    )  # fmt: skip
    surveyor = Surveyor(rules)
    surveyor.start(graph.start for graph in graphs)
    by_host = {host(graph.start): graph for graph in graphs}
    walked = Walk()
    commands: list[Command] = surveyor.handle(Tick(), 0.0).commands
    while True:
        match commands[0]:
            case FetchRobots(server=server, origin=place):
                learned = RobotsCame(server, place, _ALL_ALLOWED)
                commands = surveyor.handle(learned, 0.0).commands
            case FetchPage() as fetch:
                answer = by_host[host(fetch.asked.url)].answer(fetch.asked.url)
                commands = _answered(surveyor, fetch, answer, walked)
            case Done():
                return walked
            case other:
                raise AssertionError(f"nothing to wait for, yet: {other}")


def _answered(surveyor: Surveyor, fetch: FetchPage, answer: Answer, walked: Walk) -> list[Command]:
    server, asked = fetch.server, fetch.asked
    tree = surveyor.trees[server]
    entry = SurveyEntry(
        tree.domain,
        tree.start,
        round=0,
        url=asked.url,
        depth=asked.kind.depth,
        ending=RequestEnding.PAGE,
        wall_time=0.0,
        status=200,
    )
    walked.requests += 1
    before = len(surveyor.hosts)
    event: Event
    if isinstance(answer, int):
        walked.log.append(_changed(entry, ending=RequestEnding.STATUS, status=answer))
        event = PageRefused(server, asked, 1, answer)
    elif isinstance(answer, str):
        walked.log.append(_changed(entry, ending=RequestEnding.REDIRECT, detail=answer))
        event = PageMoved(server, asked, 1, answer)
    else:
        walked.log.append(_changed(entry, links=answer))
        event = PageCame(server, asked, 1, answer)
    commands = surveyor.handle(event, 0.0).commands
    walked.found += [walked.requests] * (len(surveyor.hosts) - before)
    return commands


def _changed(entry: SurveyEntry, **changes: object) -> SurveyEntry:
    return msgspec.structs.replace(entry, **changes)


def compare(name: str, graphs: Sequence[LinkGraph]) -> tuple[Walk, Walk]:
    by_depth = walk(graphs, breadth_first=True)
    by_yield = walk(graphs, breadth_first=False)
    cells = []
    for share in SHARES:
        old, new = by_depth.cost(share), by_yield.cost(share)
        parts = f"{old / by_depth.requests:4.0%} {new / by_yield.requests:4.0%}"
        cells.append(f"{parts} {1 - new / old:+5.0%}")
    same = "" if by_depth.requests == by_yield.requests else f" ({by_yield.requests:,} by yield)"
    print(f"{name:22} {by_depth.requests:6,}{same} {len(by_depth.found):5,}   " + "   ".join(cells))
    return by_depth, by_yield


def wrong_depths(graphs: Sequence[LinkGraph], walked: Walk) -> tuple[int, int]:
    """Pages that lie less deep than the way taken, and pages that the tables have elsewhere."""
    reckoned = LogDepths(lambda: walked.log)
    true: dict[str, int] = {}
    for graph in graphs:
        true |= shortest_ways(graph)
    too_deep = sum(entry.depth > true[entry.url] for entry in walked.log)
    wrong = sum(reckoned.depth(entry) != true[entry.url] for entry in walked.log)
    return too_deep, wrong


def shortest_ways(graph: LinkGraph) -> dict[str, int]:
    """All pages within the depth; a redirect takes no step."""
    depths: dict[str, int] = {}
    level = [graph.start]
    for depth in range(_DEPTH + 1):
        below: list[str] = []
        for url in level:
            if url in depths:
                continue
            depths[url] = depth
            answer = graph.answer(url)
            if isinstance(answer, str):
                level.append(answer)
            elif not isinstance(answer, int):
                below += [to for to, _ in answer if host(to) == host(graph.start)]
        level = below
    return depths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--docs", type=Path, help="where packages are unpacked, and stay")
    parser.add_argument("--tuned", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        graphs = documents(TUNED if args.tuned else FRESH, args.docs or Path(scratch))
        shares = "   ".join(f"{share:^15.0%}" for share in SHARES)
        print(f"{'by depth, by yield, saved':22} {'requests':>6} hosts {shares}")
        for graph in graphs:
            compare(graph.name, [graph])
        _, by_yield = compare("all in one survey", graphs)
        too_deep, wrong = wrong_depths(graphs, by_yield)
    print(f"asked for by a way longer than the shortest: {too_deep:,} of {by_yield.requests:,}")
    print(f"of these, told at another depth than the shortest way's: {wrong:,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
