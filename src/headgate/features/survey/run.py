"""Performs a survey: fetches what the surveyor asks for and passes the outcomes back to it.

    surveyor ──Fetch, LearnRobots──► fetcher ──answer──► reading ──links──► surveyor
                                                            └──entry──► log

The surveyor decides everything. Every request leaves one entry in the log; what is in the log is
not requested again when an interrupted survey is resumed. Pages known from an earlier survey are
requested conditionally.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate.crawling.background_tasks import RunTasks
from headgate.crawling.page_reader import PageReader
from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.reading_process import Unreadable, read_response
from headgate.crawling.robots import learn_robots
from headgate.features.survey.entries import (
    SurveyedPage,
    changed,
    conditions,
    entry_of,
    page_entry,
    read_surveyed,
    robots_entry,
    unchanged_entry,
)
from headgate.features.survey.log import SurveyLog
from headgate.features.survey.strategy.entries import Memory, RequestEnding, SurveyEntry
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
from headgate.features.survey.strategy.surveyor import Decision, Surveyor
from headgate.frontier.events import Done, Tick, Wait
from headgate.frontier.retries import retry_after
from headgate.model.fetch import REDIRECTS, Fetched, FetchFailure, FetchRequest

__all__ = ["SurveyRun", "SurveyTools"]

SITE = "survey"
"""All servers share one rate."""
_EXPECTED_BYTES = 20_000
_NOT_MODIFIED = 304
_COMMIT_SECONDS = 0.5
_MOST_WAITING_BYTES = 24_000_000


@dataclass(frozen=True, slots=True)
class SurveyTools:
    """What a survey works with."""

    fetcher: Fetcher
    log: SurveyLog
    clock: Clock
    earlier: Memory
    """The log of the previous survey."""
    reader: PageReader = field(default_factory=PageReader)
    site: str = SITE
    """The site whose rate is used."""


class SurveyRun:
    """One survey, within one event loop."""

    def __init__(self, surveyor: Surveyor, tools: SurveyTools) -> None:
        self.surveyor = surveyor
        self.stored = 0
        """Requests whose entries are durable."""
        self._tools = tools
        self._held = False
        self._waiting: list[Command] = []
        """Commands that wait while nothing may pass."""
        self._tasks = RunTasks()

    async def run(self) -> str:
        """Survey until the surveyor is done or the run is stopped; returns the reason."""
        self._tasks.spawn(self._commit_now_and_then())
        try:
            self._tell(Tick())
            return await self._tasks.reason()
        finally:
            await self._tasks.wind_down()
            self.stored = await asyncio.to_thread(self._tools.log.commit)

    def stop(self, reason: str) -> None:
        """End at once; requests in progress are repeated when the survey is resumed."""
        self._tasks.end(reason)

    def hold(self, held: bool) -> None:
        """While held, nothing new is requested; requests in progress go on."""
        if held == self._held:
            return
        self._held = held
        if not held:
            waiting, self._waiting = self._waiting, []
            self._perform(waiting)
            self._tick()

    def fail_with(self, task: asyncio.Task[None]) -> None:
        """Done callback of another task: its exception ends the survey."""
        self._tasks.fail_with(task)

    def _perform(self, commands: Sequence[Command]) -> None:
        for command in commands:
            match command:
                case FetchPage() | FetchRobots() if self._held:
                    self._waiting.append(command)
                case FetchPage():
                    self._tasks.spawn(self._fetch(command))
                case FetchRobots():
                    self._tasks.spawn(self._learn_robots(command))
                case Wait(until=until):
                    self._set_timer(until)
                case Done(reason=reason):
                    self.stop(reason)

    async def _learn_robots(self, command: FetchRobots) -> None:
        found = await learn_robots(
            command.origin,
            self._tools.site,
            fetch=self._tools.fetcher.fetch,
            agent=self._tools.reader.agent,
            most_requests=command.most_requests,
            most_bytes=command.most_bytes,
        )
        entry = robots_entry(self.surveyor.trees[command.server], command.origin, found)
        last = found.outcomes[-1]
        answer = RobotsAnswer(
            found.rules.allows,
            entry.crawl_delay,
            entry.requests,
            entry.wire_bytes,
            last.kind.value if isinstance(last, FetchFailure) else found.trouble,
        )
        self._tools.log.put(entry)
        self._tell(RobotsCame(command.server, command.origin, answer))

    async def _fetch(self, command: FetchPage) -> None:
        url = command.asked.url
        earlier = self._tools.earlier.find(url)
        request = FetchRequest(
            url, self._tools.site, _EXPECTED_BYTES, command.most_bytes, conditions(earlier)
        )
        outcome = await self._tools.fetcher.fetch(request)
        entry, commands = await self._landed(command, outcome, earlier)
        self._tools.log.put(entry)
        await self._room()
        self._perform(commands)

    async def _landed(
        self, command: FetchPage, outcome: Fetched | FetchFailure, earlier: SurveyEntry | None
    ) -> tuple[SurveyEntry, Sequence[Command]]:
        come = command.server, command.asked, outcome.wire_bytes
        tree = self.surveyor.trees[command.server]

        def entry(ending: RequestEnding) -> SurveyEntry:
            asked = command.asked
            return entry_of(tree, asked.url, asked.kind.depth, outcome, ending)

        if isinstance(outcome, FetchFailure):
            decided = self._decide(PageFailed(*come, outcome.kind))
            return entry(RequestEnding.FAILURE), decided.commands
        if outcome.status == _NOT_MODIFIED and earlier is not None:
            decided = self._decide(PageCame(*come, earlier.links))
            unchanged = unchanged_entry(entry(RequestEnding.UNCHANGED), earlier, decided.harvest)
            return unchanged, decided.commands
        if outcome.status in REDIRECTS:
            target = self._tools.reader.redirect_target(outcome)
            decided = self._decide(PageMoved(*come, target))
            hosts = decided.harvest.new_hosts
            return changed(
                entry(RequestEnding.REDIRECT), detail=target, new_hosts=hosts
            ), decided.commands
        if outcome.status >= 400:
            patience = retry_after(outcome.header("retry-after"), self._tools.clock.wall())
            decided = self._decide(PageRefused(*come, outcome.status, patience))
            return entry(RequestEnding.STATUS), decided.commands
        read = partial(read_surveyed, agent=self._tools.reader.agent)
        try:
            page = await read_response(tree.domain, read, outcome)
        except Unreadable:
            page = SurveyedPage()
        decided = self._decide(PageCame(*come, page.links))
        return page_entry(entry(RequestEnding.PAGE), page, decided.harvest), decided.commands

    def _decide(self, event: Event) -> Decision:
        return self.surveyor.handle(event, self._tools.clock.now())

    def _tell(self, event: Event) -> None:
        self._perform(self._decide(event).commands)

    async def _room(self) -> None:
        """If the disk is slower than the line, wait: memory stays bounded."""
        while self._tools.log.waiting_bytes > _MOST_WAITING_BYTES:
            await asyncio.sleep(_COMMIT_SECONDS)

    async def _commit_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_SECONDS)
            self.stored = await asyncio.to_thread(self._tools.log.commit)

    def _set_timer(self, until: float) -> None:
        self._tasks.wake_after(until - self._tools.clock.now(), self._tick)

    def _tick(self) -> None:
        if not (self._held or self._tasks.over):
            self._tell(Tick())
