"""The job of a keeper, and its observer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.model.budget import Budget
from headgate.model.keep_status import KeepStatus
from headgate.model.site import Site
from headgate.recrawl.keep_policies import KeepPolicy
from headgate.site_file.contents import SiteFile

__all__ = ["KeepJob", "KeepWatcher", "Stoppable"]


class KeepJob(msgspec.Struct, frozen=True):
    """What is to be kept, and how."""

    sites: tuple[Site, ...]
    budget: Budget
    out: Path
    contact: str
    """Sent to servers."""
    policy: KeepPolicy
    seconds: float = math.inf
    """How long it runs."""
    once: bool = False
    """End when nothing is due."""
    reread: Callable[[bool], SiteFile | None] = lambda _: None
    """Returns the site file if it has changed since the last call, or if called with True; raises
    if it is invalid."""
    tend_seconds: float = 1.0
    """Time between two checks for something to do, if nothing happens."""
    crew: Callable[[], int] | None = None
    """Returns how many visits can run at once on the machines that are connected now; None: as many
    as the budget has crawlers."""

    @property
    def slots(self) -> int:
        """Most visits at once."""
        return self.budget.crawlers if self.crew is None else self.crew()


class Stoppable(Protocol):
    """A keeper, as seen by its watcher."""

    def stop(self, reason: str = "stopped") -> None:
        """End in order."""
        ...

    def look_again(self) -> None:
        """Read the site file again now."""
        ...


class KeepWatcher(Protocol):
    """An observer of a keeper. Called from the event loop, so it must return quickly."""

    def told(self, words: Sequence[str]) -> None:
        """Messages for the user, a sentence each."""
        ...

    def state(self, status: KeepStatus) -> None:
        """Called every minute, and at the end."""
        ...

    def attach(self, keeper: Stoppable) -> None:
        """It can be stopped from now on."""
        ...
