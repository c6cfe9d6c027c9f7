"""One budget over many nodes: each holds a part of it, for a while, whatever gets lost.

A node gets a total and the time until which it is valid. What all nodes may believe at a moment
never adds up to more than the budget: a part counts until its time is over, or until its node is
known to have heard of a later one. So a node that is cut off takes its part along for one lease at
the most, and one that joins waits for the others to step back, which they do at their next beat.

Parts given by an earlier manager are not known; they add up to the budget at most. So until they
have run out, a node gets no more than it says it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["LeasedTotals"]

_NEVER_HEARD = 2**62
"""No later beat tells that a part is given up."""


@dataclass(frozen=True, slots=True)
class _Part:
    rate: float
    until: float
    number: int
    """Of the beat that was answered with it."""


@dataclass(slots=True)
class LeasedTotals:
    _parts: dict[str, list[_Part]] = field(default_factory=dict)
    """By node, what it may believe to hold."""
    _inherited_until: float = -math.inf
    """So long there may be parts that an earlier manager gave."""

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
        """The part of the node that beats, from now ``until`` then; None: no limit.

        ``beat`` is its number and the highest that it heard an answer to. ``weights`` of all nodes
        that are here, by which the budget is shared. ``holds``: what it may use now by its own
        word."""
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
        """An earlier manager may have given parts that are good until then."""
        self._inherited_until = until

    def begin(self, node: str) -> None:
        """Another life of it: the numbers of its beats begin anew, the old parts run out."""
        old = self._parts.get(node, [])
        self._parts[node] = [_Part(part.rate, part.until, _NEVER_HEARD) for part in old]

    def all_held(self, now: float) -> float:
        """What all nodes together may believe to hold."""
        return math.fsum(
            max((part.rate for part in parts if part.until > now), default=0.0)
            for parts in self._parts.values()
        )

    def _held(self, node: str) -> float:
        return max((part.rate for part in self._parts[node]), default=0.0)
