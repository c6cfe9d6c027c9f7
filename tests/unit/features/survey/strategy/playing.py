"""Plays a survey on a web that is only a table: no clock, no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.features.survey.strategy.events import (
    Command,
    Event,
    FetchPage,
    FetchRobots,
    PageCame,
    PageFailed,
    PageMoved,
    PageRefused,
    RobotsAnswer,
    RobotsCame,
)
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.frontier.events import Done, Tick, Wait
from headgate.model.fetch import FailureKind

Links = Sequence[tuple[str, str]]
Answer = Links | int | str | FailureKind
"""Links of a page, an error status, the target of a redirect, or a failure."""


@dataclass(slots=True)
class Played:
    """What happened: the order of requests, and how many were under way at most."""

    fetched: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)
    log: list[SurveyEntry] = field(default_factory=list)
    """What a survey would write down; robots.txt left out."""
    ending: str = ""


def play(
    surveyor: Surveyor,
    web: Mapping[str, Answer],
    *,
    allows: Callable[[str], bool] = lambda _: True,
    page_bytes: int = 1000,
) -> Played:
    """Answer every command at once; time passes only while nothing can start."""
    played = Played()
    now = 0.0
    todo: list[Command] = surveyor.handle(Tick(), now).commands
    wake: float | None = None
    while not played.ending:
        surveyor.check()
        if not todo:
            assert wake is not None, "the surveyor waits for nothing"
            now, wake = max(now, wake), None
            todo = surveyor.handle(Tick(), now).commands
            continue
        match todo.pop(0):
            case FetchRobots(server=server, origin=place):
                played.robots.append(place)
                rules = RobotsAnswer(allows, wire_bytes=100)
                todo += surveyor.handle(RobotsCame(server, place, rules), now).commands
            case FetchPage() as fetch:
                played.fetched.append(fetch.asked.url)
                played.times.append(now)
                answer = web.get(fetch.asked.url, 404)
                played.log.append(_entry(surveyor, fetch, answer, page_bytes))
                todo += surveyor.handle(_event(fetch, answer, page_bytes), now).commands
            case Wait(until=until):
                wake = until
            case Done(reason=reason):
                played.ending = reason
    return played


def _event(fetch: FetchPage, answer: Answer, page_bytes: int) -> Event:
    come = fetch.server, fetch.asked, page_bytes
    if isinstance(answer, FailureKind):
        return PageFailed(*come, answer)
    if isinstance(answer, int):
        return PageRefused(*come, answer)
    if isinstance(answer, str):
        return PageMoved(*come, answer)
    return PageCame(*come, answer)


def _entry(surveyor: Surveyor, fetch: FetchPage, answer: Answer, page_bytes: int) -> SurveyEntry:
    tree, asked = surveyor.trees[fetch.server], fetch.asked
    ending, status, detail = RequestEnding.PAGE, 200, ""
    links: Links = ()
    if isinstance(answer, FailureKind):
        ending, status, detail = RequestEnding.FAILURE, 0, answer.value
    elif isinstance(answer, int):
        ending, status = RequestEnding.STATUS, answer
    elif isinstance(answer, str):
        ending, status, detail = RequestEnding.REDIRECT, 301, answer
    else:
        links = answer
    return SurveyEntry(
        tree.domain,
        tree.start,
        round=tree.round,
        url=asked.url,
        depth=asked.kind.depth,
        ending=ending,
        wall_time=0.0,
        status=status,
        detail=detail,
        wire_bytes=page_bytes,
        links=links,
    )
