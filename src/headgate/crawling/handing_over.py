"""A site run that ends so that others go on: another process with all of it, or several nodes with
a share each.
"""

from __future__ import annotations

import asyncio

import msgspec

from headgate.crawling.dialogue import Dialogue
from headgate.crawling.leads import Leads
from headgate.crawling.progress import SHARED_OUT
from headgate.crawling.run_tasks import RunTasks
from headgate.frontier.events import Stop
from headgate.frontier.frontier import Frontier

__all__ = ["HandingOver"]

_LANDING_SECONDS = 1.0
"""For fetches under way to land; they are given up then."""


class HandingOver(msgspec.Struct):
    frontier: Frontier
    leads: Leads
    dialogue: Dialogue
    tasks: RunTasks
    enough: int | None
    """URLs that wait, and it ends: others can help. None: it comes to its own end."""

    def end(self, reason: str) -> None:
        """When what is under way has landed."""
        asyncio.get_running_loop().call_later(_LANDING_SECONDS, self.tasks.end, reason)
        self.dialogue.pass_on(Stop(reason))

    def share_out(self) -> None:
        """As soon as it may be."""
        self.enough = 0
        self.look()

    def look(self) -> None:
        """Share out where enough waits. Not before all was followed that leads to more than links
        do: nobody else would."""
        waiting = self.frontier.waiting
        if self.enough is None or waiting is None or self.leads.open or waiting < self.enough:
            return
        self.enough = None
        self.end(SHARED_OUT)
