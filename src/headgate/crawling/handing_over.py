"""Ends a site run so that others continue it: another process, or several nodes."""

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
"""Fetches in flight may take so long to complete; then they are given up."""


class HandingOver(msgspec.Struct):
    frontier: Frontier
    leads: Leads
    dialogue: Dialogue
    tasks: RunTasks
    enough: int | None
    """Waiting URLs at which the run ends so that others can help; None: it runs to its end."""

    def end(self, reason: str) -> None:
        """Once fetches in flight are complete."""
        asyncio.get_running_loop().call_later(_LANDING_SECONDS, self.tasks.end, reason)
        self.dialogue.pass_on(Stop(reason))

    def share_out(self) -> None:
        """As soon as possible."""
        self.enough = 0
        self.look()

    def look(self) -> None:
        """End if enough URLs wait, but not before all other sources of URLs (sitemaps, known pages)
        were followed: nobody else would follow them."""
        waiting = self.frontier.waiting
        if self.enough is None or waiting is None or self.leads.open or waiting < self.enough:
            return
        self.enough = None
        self.end(SHARED_OUT)
