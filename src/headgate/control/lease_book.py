"""Which tasks a node may fetch for at this moment, by its own clock alone.

A lease counts from the moment at which the node *asked*, so it never ends later here than at the
manager's, whatever the way between them did to the answer; the clocks of the two are never
compared. No answer, no request: a node that is cut off stops by itself, and what it had of the
budget is free again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.crawling.task_messages import Lease, Orders, Stop

__all__ = ["LeaseBook"]

_MARGIN_SECONDS = 0.25
"""Before its end a lease is used no more: what is under way has to be broken off by then."""


@dataclass(slots=True)
class LeaseBook:
    """Times are seconds of the node's clock that does not jump."""

    total: float | None = None
    """Bytes per second that the node may use; None: no bound."""
    _total_until: float = -math.inf
    _until: dict[Lease, float] = field(default_factory=dict)

    def take(self, lease: Lease, asked: float, seconds: float) -> None:
        """It was given to this node; 0 seconds: whether it is still good must be asked."""
        self._until[lease] = asked + seconds

    def drop(self, lease: Lease) -> None:
        """Given back, brought or lost."""
        self._until.pop(lease, None)

    @property
    def held(self) -> tuple[Lease, ...]:
        return tuple(self._until)

    def obey(self, orders: Orders, asked: float) -> tuple[Stop, ...]:
        """What a beat was answered; of those held, the ones that are lost. Answers may come out of
        order: an older one shortens nothing."""
        for lease in orders.good:
            if lease in self._until:
                self._until[lease] = max(self._until[lease], asked + orders.seconds)
        until = asked + orders.total_seconds
        if until >= self._total_until:
            self.total, self._total_until = orders.total, until
        return tuple(stop for stop in orders.stop if stop.lease in self._until)

    def holds(self, now: float) -> float | None:
        """Bytes per second of the total that are good at this moment; None: no bound."""
        return self.total if now < self._total_until else 0.0

    def is_good(self, lease: Lease, now: float) -> bool:
        """Whether a request may leave for it."""
        until = min(self._until.get(lease, -math.inf), self._total_until)
        return now < until - _MARGIN_SECONDS
