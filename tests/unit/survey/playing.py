"""Plays a survey on a web that is only a table: no clock, no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.model.fetch import FailureKind
from headgate.survey.answers import RobotsAnswer
from headgate.survey.commands import Command, Done, Fetch, LearnRobots, Wait
from headgate.survey.surveyor import Surveyor

Links = Sequence[tuple[str, str]]
Answer = Links | int | str | FailureKind
"""Links of a page, an error status, the target of a redirect, or a failure."""


@dataclass(slots=True)
class Played:
    """What happened: the order of requests, and how many were under way at most."""

    fetched: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)
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
    todo: list[Command] = list(surveyor.begin(now))
    wake: float | None = None
    while not played.ending:
        surveyor.check()
        if not todo:
            assert wake is not None, "the surveyor waits for nothing"
            now, wake = max(now, wake), None
            todo = list(surveyor.tick(now))
            continue
        match todo.pop(0):
            case LearnRobots(server=server, origin=place):
                played.robots.append(place)
                answer = RobotsAnswer(allows, wire_bytes=100)
                todo += surveyor.robots_learned(server, place, answer, now)
            case Fetch() as fetch:
                played.fetched.append(fetch.asked.url)
                played.times.append(now)
                todo += _answer(surveyor, fetch, web.get(fetch.asked.url, 404), page_bytes, now)
            case Wait(until=until):
                wake = until
            case Done(reason=reason):
                played.ending = reason
    return played


def _answer(
    surveyor: Surveyor, fetch: Fetch, answer: Answer, page_bytes: int, now: float
) -> Sequence[Command]:
    server, asked = fetch.server, fetch.asked
    if isinstance(answer, FailureKind):
        return surveyor.failed(server, asked, answer, page_bytes, now)
    if isinstance(answer, int):
        return surveyor.refused(server, asked, answer, None, page_bytes, now)
    if isinstance(answer, str):
        return surveyor.redirected(server, asked, answer, page_bytes, now)[1]
    return surveyor.page(server, asked, answer, page_bytes, now)[1]
