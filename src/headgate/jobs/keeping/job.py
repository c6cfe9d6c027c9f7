"""What a keeper is asked for, and who looks on."""

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
    """Told to servers."""
    policy: KeepPolicy
    seconds: float = math.inf
    """Then it ends."""
    once: bool = False
    """It ends when nothing is due."""
    reread: Callable[[bool], SiteFile | None] = lambda _: None
    """The site file where it is another one than at the last call, or the user says so, read as the
    first time; raises what is wrong with it."""
    tend_seconds: float = 1.0
    """Between two looks at what there is to do, if nothing happens."""
    crew: Callable[[], int] | None = None
    """How many visits can be made at once now, by machines that come and go; None: as many as the
    budget has crawlers."""

    @property
    def slots(self) -> int:
        """Visits that are begun at once at the most."""
        return self.budget.crawlers if self.crew is None else self.crew()


class Stoppable(Protocol):
    """A keeper, as its watcher sees it."""

    def stop(self, reason: str = "stopped") -> None:
        """End in order."""
        ...

    def look_again(self) -> None:
        """At the site file, now."""
        ...


class KeepWatcher(Protocol):
    """Watches a keeper. Called from the event loop, so it must not take long."""

    def told(self, words: Sequence[str]) -> None:
        """What somebody should know, a sentence each."""
        ...

    def state(self, status: KeepStatus) -> None:
        """Every minute, and at the end."""
        ...

    def attach(self, keeper: Stoppable) -> None:
        """It can be stopped from now on."""
        ...
