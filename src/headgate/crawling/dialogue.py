"""Passes events to a site run's frontier, and wakes it when it has asked to be woken.

Events from tasks are dropped once the run is over. A frontier that takes long is followed by pauses
of the same length, in which the rest of the event loop runs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from msgspec import structs

from headgate.crawling.focusing import Focusing
from headgate.crawling.ports import Clock
from headgate.crawling.run_tasks import RunTasks
from headgate.frontier.commands import Command
from headgate.frontier.events import Event, Found, PageFetched, Recalled, Tick
from headgate.frontier.frontier import Frontier
from headgate.frontier.scored_todo import Scores

__all__ = ["LINKS_AT_ONCE", "Dialogue"]

LINKS_AT_ONCE = 2_000
"""Most links per event. A link takes the frontier some microseconds, one made to be expensive a
tenth of a millisecond."""
_OTHERS_PART = 1.0
"""Pause after each second that the frontier takes for very many links."""
_SHORTEST_PAUSE_SECONDS = 0.2
"""A shorter delay of the site is not worth lending its rate to others."""


class Dialogue:
    """Of one site run with its frontier; ``perform`` executes the frontier's commands."""

    def __init__(
        self,
        frontier: Frontier,
        clock: Clock,
        focus: Focusing | None,
        tasks: RunTasks,
        perform: Callable[[list[Command]], object],
    ) -> None:
        self.news = True
        """Whether the frontier got an event since this was last set to False."""
        self._frontier = frontier
        self._clock = clock
        self._focus = focus
        self._tasks = tasks
        self._perform = perform
        self._wakes = -math.inf
        """When the timer fires."""
        self._took_seconds = 0.0
        """Time that the frontier took for the last event."""

    @property
    def over(self) -> bool:
        """Whether the run is over."""
        return self._tasks.over

    @property
    def accepted(self) -> int:
        """Number of URLs that the frontier has accepted."""
        return self._frontier.accepted

    @property
    def waits(self) -> bool:
        """Whether the frontier only waits for a time that is not near."""
        return self._wakes > self._clock.now() + _SHORTEST_PAUSE_SECONDS

    def ask(self, event: Event) -> list[Command]:
        """The frontier's commands, for the caller to perform."""
        self.news = True
        clock = self._clock
        began = clock.now()
        commands = self._frontier.handle(event, began)
        self._took_seconds = clock.now() - began
        return commands

    def tell(self, event: Event) -> None:
        self._perform(self.ask(event))

    def pass_on(self, event: Event) -> None:
        """An event from a task, which may outlive the run. With a focus, URLs that were not found
        on a page are scored by themselves."""
        if self._focus is not None and isinstance(event, Found | Recalled):
            event = structs.replace(event, scores=self._focus.of_urls(event.urls))
        if not self._tasks.over:
            self.tell(event)

    async def tell_of(self, urls: Sequence[str], depth: int, scores: Scores | None) -> None:
        """Pass on very many URLs in parts, with pauses as long as each part took."""
        clock = self._clock
        for start in range(0, len(urls), LINKS_AT_ONCE):
            began = clock.now()
            some = urls[start : start + LINKS_AT_ONCE]
            theirs = None if scores is None else {url: scores[url] for url in some if url in scores}
            if self._tasks.over:
                return
            self.tell(Found(some, depth, theirs))
            await asyncio.sleep(_OTHERS_PART * (clock.now() - began))

    async def tell_most(self, event: PageFetched, depth: int) -> PageFetched:
        """Pass on most links of a page with very many; returns the event with the last ones.

        In this order, a crash leaves a page to be fetched again, never a settled page whose links
        are lost."""
        if not self._frontier.follows(event.digest):
            return event
        most = len(event.links) - LINKS_AT_ONCE
        await self.tell_of(event.links[:most], depth, event.scores)
        return structs.replace(event, links=event.links[most:])

    def wake_at(self, until: float) -> None:
        """Wake the frontier then, or once the event loop had as long as the frontier took."""
        self._wakes = until
        wait = max(until - self._clock.now(), _OTHERS_PART * self._took_seconds)
        self._tasks.wake_after(wait, self.tick)

    def tick(self) -> None:
        self.pass_on(Tick())
