"""What may pass from now on: the user's budget over time, limited to what the line has for us."""

from __future__ import annotations

import math

import msgspec

from headgate.planning.capacity import Capacity
from headgate.planning.replan import BudgetChanged

__all__ = ["BudgetNow"]


class BudgetNow(msgspec.Struct):
    """The plan is made for what the line has; nodes are told the user's total, since whoever
    measures the line limits them further."""

    capacity: Capacity | None
    """None: unlimited."""
    line: float = math.inf
    """What the line has for us if others use it too."""
    held_back: bool = False
    """We are held below that at the moment, so servers cannot be measured."""
    told: float | None = None
    """The total that nodes were last told."""

    def rate(self, now: float) -> float:
        """Bytes per second to plan for; only with a limited budget."""
        assert self.capacity is not None
        return min(self.capacity.rate_at(now), self.line)

    def part_of(self, given: float, now: float) -> float:
        """The share of its rate that each site gets if all use theirs, ``given`` in total. With
        loans, rates add up to more than the line, and a server that delivers only this share is
        not slow."""
        return 1.0 if self.capacity is None or not given else min(self.rate(now) / given, 1.0)

    def pausing(self, now: float) -> bool:
        """Whether nothing may pass, and nodes were told so."""
        return self.capacity is not None and self.rate(now) == 0 == self.told

    def next_turn(self, now: float) -> float:
        """When the budget changes by itself; infinity: never."""
        return math.inf if self.capacity is None else self.capacity.next_turn(now)

    def changed(self, now: float) -> BudgetChanged:
        """The event for the planner."""
        capacity = self.capacity or Capacity.constant(1.0)
        return BudgetChanged(now, capacity.at_most(self.line))

    def news(self, now: float) -> float | None:
        """The total if nodes do not know it yet; they are taken to know it from now on. To be asked
        at any event, since the budget may have changed in the meantime."""
        total = math.inf if self.capacity is None else self.capacity.rate_at(now)
        if total == self.told:
            return None
        self.told = total
        return total
