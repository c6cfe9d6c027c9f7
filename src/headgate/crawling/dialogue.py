"""What a site run tells its frontier, and when the frontier wants to be told of the time.

What tasks pass on is dropped once the run is over. A frontier that has much to think about is
given pauses as long as it took, in which others of the event loop have their turn.
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
"""Told to the frontier in one go. A link takes it some microseconds, one made to be costly a
tenth of a millisecond."""
_OTHERS_PART = 1.0
"""Seconds that others have for each that the frontier takes for very many links."""
_SHORTEST_PAUSE_SECONDS = 0.2
"""Of a site that waits for its own delay: less is not worth lending what it has."""


class Dialogue:
    """Of one site run with its frontier; ``perform`` does what the frontier answers."""

    def __init__(
        self,
        frontier: Frontier,
        clock: Clock,
        focus: Focusing | None,
        tasks: RunTasks,
        perform: Callable[[list[Command]], object],
    ) -> None:
        self.news = True
        """The frontier was told something since somebody last set this to False."""
        self._frontier = frontier
        self._clock = clock
        self._focus = focus
        self._tasks = tasks
        self._perform = perform
        self._wakes = -math.inf
        """When the timer goes off."""
        self._took_seconds = 0.0
        """The frontier, for the last event."""

    @property
    def over(self) -> bool:
        """Whether the run is."""
        return self._tasks.over

    @property
    def accepted(self) -> int:
        """URLs that the frontier has taken in."""
        return self._frontier.accepted

    @property
    def waits(self) -> bool:
        """Whether the frontier wants to hear of nothing but the time, and not soon."""
        return self._wakes > self._clock.now() + _SHORTEST_PAUSE_SECONDS

    def ask(self, event: Event) -> list[Command]:
        """What the frontier answers, for the caller to perform."""
        self.news = True
        clock = self._clock
        began = clock.now()
        commands = self._frontier.handle(event, began)
        self._took_seconds = clock.now() - began
        return commands

    def tell(self, event: Event) -> None:
        self._perform(self.ask(event))

    def pass_on(self, event: Event) -> None:
        """From a task, which may outlive the run. With a focus, URLs that no page brought are
        scored by themselves."""
        if self._focus is not None and isinstance(event, Found | Recalled):
            event = structs.replace(event, scores=self._focus.of_urls(event.urls))
        if not self._tasks.over:
            self.tell(event)

    async def tell_of(self, urls: Sequence[str], depth: int, scores: Scores | None) -> None:
        """Of very many, in parts; others have as long in between."""
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
        """Of a page with very many links, all but the last, which go with the page itself.

        Were it the other way round, a crash could leave a page
        settled whose links nobody knows; so it leaves a page to be asked for again."""
        if not self._frontier.follows(event.digest):
            return event
        most = len(event.links) - LINKS_AT_ONCE
        await self.tell_of(event.links[:most], depth, event.scores)
        return structs.replace(event, links=event.links[most:])

    def wake_at(self, until: float) -> None:
        """A frontier that has much to do at once goes on when others had as long."""
        self._wakes = until
        wait = max(until - self._clock.now(), _OTHERS_PART * self._took_seconds)
        self._tasks.wake_after(wait, self.tick)

    def tick(self) -> None:
        self.pass_on(Tick())
