"""Leases as a node sees them, and one budget shared among nodes by leased parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.features.grid.protocol import Lease, Orders, StopTask

__all__ = ["LeaseBook", "LeasedTotals"]

_MARGIN_SECONDS = 0.25
"""A lease is not used this close to its end: fetches in flight must be aborted by then."""


@dataclass(slots=True)
class LeaseBook:
    """Leases of a node: which tasks it may fetch for, by its own clock alone.

    A lease counts from the time of the node's *request*, so here it never ends later than at the
    manager, however late the answer came; the two clocks are never compared. A node that is cut off
    stops by itself, and its part of the budget is free again.

    Times are seconds of the node's monotonic clock.
    """

    total: float | None = None
    """Bytes per second that the node may use; None: no bound."""
    _total_until: float = -math.inf
    _until: dict[Lease, float] = field(default_factory=dict)

    def add(self, lease: Lease, asked: float, seconds: float) -> None:
        """Add a lease of this node; 0 seconds: the manager must confirm it first."""
        self._until[lease] = asked + seconds

    def drop(self, lease: Lease) -> None:
        """Remove a lease that was given back, delivered or lost."""
        self._until.pop(lease, None)

    def obey(self, orders: Orders, asked: float) -> tuple[StopTask, ...]:
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


_NEVER_HEARD = 2**62
"""The number of a part that no later heartbeat ends."""


@dataclass(frozen=True, slots=True)
class _Part:
    rate: float
    until: float
    number: int
    """Of the heartbeat that was answered with it."""


@dataclass(slots=True)
class LeasedTotals:
    """Shares one budget among many nodes, each with a leased part.

    A node gets a rate and the time until which it is valid. What all nodes may believe to have
    never adds up to more than the budget: a part counts until it expires, or until its node is
    known to have received a later one. So a node that is cut off keeps its part for at most one
    lease, and one that joins waits until the others have stepped back at their next heartbeat.

    Parts given by an earlier manager are not known; they add up to the budget at most. So until
    they have expired, a node gets no more than it says it has.
    """

    _parts: dict[str, list[_Part]] = field(default_factory=dict)
    """By node, the parts that it may believe to have."""
    _inherited_until: float = -math.inf
    """Until then, parts given by an earlier manager may be valid."""

    def lease(
        self,
        node: str,
        beat: tuple[int, int],
        budget: float | None,
        weights: dict[str, float],
        until: float,
        now: float,
        holds: float | None = None,
    ) -> float | None:
        """Lease a part to a node, valid ``until`` then; None: no limit.

        ``beat``: the number of its heartbeat, and the highest one it has the answer to.
        ``weights``: of all present nodes; the budget is shared in proportion. ``holds``: the rate
        that the node says it has now."""
        number, heard = beat
        for name in list(self._parts):
            kept = [part for part in self._parts[name] if part.until > now]
            if name == node:
                kept = [part for part in kept if part.number >= heard]
            self._parts[name] = kept
            if not kept:
                del self._parts[name]
        if budget is None:
            self._parts.pop(node, None)
            return None
        whole = sum(weights.values())
        share = budget * weights.get(node, 0.0) / whole if whole > 0 else 0.0
        others = sum(self._held(name) for name in self._parts if name != node)
        if now < self._inherited_until:
            share = min(share, holds or 0.0)
        rate = max(min(share, budget - others), 0.0)
        self._parts.setdefault(node, []).append(_Part(rate, until, number))
        return rate

    def inherit(self, until: float) -> None:
        """Parts of an earlier manager may be valid until then."""
        self._inherited_until = until

    def begin(self, node: str) -> None:
        """A node was restarted: the numbers of its heartbeats start again, the old parts expire."""
        old = self._parts.get(node, [])
        self._parts[node] = [_Part(part.rate, part.until, _NEVER_HEARD) for part in old]

    def all_held(self, now: float) -> float:
        """The sum of what all nodes may believe to have."""
        return math.fsum(
            max((part.rate for part in parts if part.until > now), default=0.0)
            for parts in self._parts.values()
        )

    def _held(self, node: str) -> float:
        return max((part.rate for part in self._parts[node]), default=0.0)
