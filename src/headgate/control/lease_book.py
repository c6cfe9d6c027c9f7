"""Leases of a node: which tasks it may fetch for, by its own clock alone.

A lease counts from the time of the node's *request*, so here it never ends later than at the
manager, however late the answer came; the two clocks are never compared. A node that is cut off
stops by itself, and its part of the budget is free again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.crawling.task_messages import Lease, Orders, Stop

__all__ = ["LeaseBook"]

_MARGIN_SECONDS = 0.25
"""A lease is not used this close to its end: fetches in flight must be aborted by then."""


@dataclass(slots=True)
class LeaseBook:
    """Times are seconds of the node's monotonic clock."""

    total: float | None = None
    """Bytes per second that the node may use; None: no bound."""
    _total_until: float = -math.inf
    _until: dict[Lease, float] = field(default_factory=dict)

    def take(self, lease: Lease, asked: float, seconds: float) -> None:
        """Add a lease of this node; 0 seconds: the manager must confirm it first."""
        self._until[lease] = asked + seconds

    def drop(self, lease: Lease) -> None:
        """Remove a lease that was given back, delivered or lost."""
        self._until.pop(lease, None)

    def obey(self, orders: Orders, asked: float) -> tuple[Stop, ...]:
        """Apply the answer to a heartbeat; return the leases that were lost. Answers may come out
        of order: an older one shortens nothing."""
        for lease in orders.good:
            if lease in self._until:
                self._until[lease] = max(self._until[lease], asked + orders.seconds)
        until = asked + orders.total_seconds
        if until >= self._total_until:
            self.total, self._total_until = orders.total, until
        return tuple(stop for stop in orders.stop if stop.lease in self._until)

    def holds(self, now: float) -> float | None:
        """Bytes per second that the node may use at ``now``; None: no bound."""
        return self.total if now < self._total_until else 0.0

    def is_good(self, lease: Lease, now: float) -> bool:
        """Whether a request may be sent for it."""
        until = min(self._until.get(lease, -math.inf), self._total_until)
        return now < until - _MARGIN_SECONDS
