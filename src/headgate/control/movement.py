"""Whether a leased task makes progress, and whether it is to blame if not.

A node may hang and still send heartbeats, so a lease without progress is ended after a while.
Unless there is a good reason for it: the site's own delay, a result that waits for its upload or
for the manager's disk, a pause of the whole budget. A task is to blame only if it was being crawled
while its node made progress elsewhere: if the node makes none at all, its machine is too busy or
its owner's budget is spent, and the task goes to another node as if it had never been given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardTerms
from headgate.control.open_leases import OpenLease
from headgate.crawling.progress import Progress, TaskState

__all__ = ["Movement"]

_LONGEST_DELAY_SECONDS = 7200.0
"""Longest time between two requests that a site may ask for."""


@dataclass(slots=True)
class Movement:
    """Progress of the tasks under open leases."""

    terms: BoardTerms
    _brought: dict[str, float] = field(default_factory=dict)
    """When each node last offered, sent or asked about a result."""
    _worked: dict[str, float] = field(default_factory=dict)
    """When any task of each node last made progress."""

    def brings(self, node: str, now: float) -> None:
        """A node offers or sends a result, or asks whether it is stored; its other results wait for
        that."""
        self._brought[node] = now

    def hangs(self, held: OpenLease, told: Progress, now: float, *, paused: bool) -> bool:
        """Whether there was no progress for too long, given the node's new report. ``paused``: the
        budget allows no fetches."""
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
        """Whether a task that hangs is to blame. ``alone``: its node has no other task."""
        works = self._worked.get(held.row.node, -math.inf) >= self._long_ago(now)
        begun = told.state is TaskState.CRAWLING and told.ended is None
        return (works or alone) and begun and not told.pausing

    def _long_ago(self, now: float) -> float:
        return now - self.terms.stuck_seconds
