"""What the owner of a machine allows its node now: time, disk space, rate, addresses."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from headgate.crawling.ports import Clock
from headgate.fetching.http import FetcherSettings
from headgate.jobs.lending.guest_rules import GuestRules
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.jobs.lending.leg import WorkerLeg
from headgate.model.errors import UserMistake

__all__ = ["OwnerBounds"]

_LEAST_FREE_BYTES = 50_000_000
"""With less space no task is claimed."""
_ANYWHERE = frozenset(("0.0.0.0/0", "::/0"))
_NOBODY = "no contact given"


@dataclass(slots=True)
class OwnerBounds:
    rules: GuestRules
    disk_bytes: float
    allow_private: bool
    holdings: Holdings
    leg: WorkerLeg
    clock: Clock

    def why_not_now(self) -> str:
        """Why the node must rest; empty: it may work."""
        away = self.rules.why_not_now(self.clock.now(), self.clock.wall())
        if not away and self.leg.own_rate() == 0:
            away = "the budget allows nothing now"
        return away

    def room(self) -> int:
        """Bytes that may still be put on the disk."""
        left = self.disk_bytes - self.holdings.used_bytes()
        return max(int(min(left, shutil.disk_usage(self.holdings.home).free)), 0)

    def has_room(self, room: int) -> bool:
        return room >= _LEAST_FREE_BYTES

    def too_much(self) -> Work | None:
        """The task to give up if the disk is used up: the largest that is being crawled."""
        if self.holdings.used_bytes() <= self.disk_bytes:
            return None
        crawled = list(self.holdings.of(Stage.CRAWLING))
        return max(crawled, key=lambda work: work.folder.used_bytes(), default=None)

    def settings(self, contact: str) -> FetcherSettings:
        """The contact sent to servers is that of the manager; which addresses may be reached is
        the owner's decision."""
        named = _ANYWHERE if self.allow_private else frozenset[str]()
        try:
            return FetcherSettings(contact or _NOBODY, named=named)
        except UserMistake:
            return FetcherSettings(_NOBODY, named=named)
