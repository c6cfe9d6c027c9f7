"""Whether a task that a node holds moves on, and whether it is to blame where it does not.

A node may hang and beat all the same, so a lease under which nothing moves is ended after a while.
Many stand still for a good reason: the site's own delay, a result that waits to be brought or for
the manager's disk, a pause of the whole budget. Those go on. And a task is to blame only if it was
being crawled while its node did other things: where nothing at all moves, the machine is too busy,
or its owner's budget is spent, and the task goes to another as if it had never been given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardTerms
from headgate.control.open_leases import OpenLease
from headgate.crawling.progress import Progress, TaskState

__all__ = ["Movement"]

_LONGEST_DELAY_SECONDS = 7200.0
"""That a site may ask for between two requests."""


@dataclass(slots=True)
class Movement:
    """Of the tasks under open leases."""

    terms: BoardTerms
    _brought: dict[str, float] = field(default_factory=dict)
    """When nodes last had something to do with a result of theirs."""
    _worked: dict[str, float] = field(default_factory=dict)
    """When something that they crawl last moved."""

    def brings(self, node: str, now: float) -> None:
        """It offers or sends a result, or asks whether it is stored: those that wait behind it
        do so for a reason."""
        self._brought[node] = now

    def hangs(self, held: OpenLease, told: Progress, now: float, *, paused: bool) -> bool:
        """Whether nothing moved for too long, by what its node says now. ``paused``: nobody may
        fetch anything."""
        mark = (told.fetches, told.wire_bytes + told.under_way_bytes, told.seen)
        if mark != held.mark:
            held.mark, held.moved, held.delayed = mark, now, now
            self._worked[held.row.node] = now
        elif paused:
            held.moved = held.delayed = now
        elif told.ended is not None:
            held.moved = max(held.moved, self._brought.get(held.row.node, -math.inf))
        elif told.pausing and now - held.delayed <= _LONGEST_DELAY_SECONDS:
            held.moved = now
        return held.moved < self._long_ago(now)

    def is_to_blame(self, held: OpenLease, told: Progress, now: float, *, alone: bool) -> bool:
        """Of a task that hangs. ``alone``: its node has no other that could tell."""
        works = self._worked.get(held.row.node, -math.inf) >= self._long_ago(now)
        begun = told.state is TaskState.CRAWLING and told.ended is None
        return (works or alone) and begun and not told.pausing

    def _long_ago(self, now: float) -> float:
        return now - self.terms.stuck_leases * self.terms.lease_seconds
