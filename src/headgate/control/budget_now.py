"""What may pass from now on: the user's budget over time, cut to what the line has for us."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headgate.planning.capacity import Capacity
from headgate.planning.replan import BudgetChanged

__all__ = ["BudgetNow"]


@dataclass(slots=True)
class BudgetNow:
    """The plan is made for no more than the line has; the total that nodes are told is the
    user's, for who measures the line holds them to it."""

    capacity: Capacity | None
    """None: unlimited."""
    line: float = math.inf
    """What the line has for us where others use it too."""
    held_back: bool = False
    """At this moment it has even less: how fast a server is cannot be told now."""
    told: float | None = None
    """The total that nodes were told last."""

    def rate(self, now: float) -> float:
        """Bytes per second to plan for; there is a budget."""
        assert self.capacity is not None
        return min(self.capacity.rate_at(now), self.line)

    def part_of(self, given: float, now: float) -> float:
        """What sites get of their rates, ``given`` in all, if all want theirs: where some of them
        are lent, rates add up to more than the line, and a server is not slow that gives no more
        than this."""
        return 1.0 if self.capacity is None or not given else min(self.rate(now) / given, 1.0)

    def pausing(self, now: float) -> bool:
        """Whether nothing may pass, and all know it."""
        return self.capacity is not None and self.rate(now) == 0 == self.told

    def next_turn(self, now: float) -> float:
        """When it changes by itself; infinity: never."""
        return math.inf if self.capacity is None else self.capacity.next_turn(now)

    def changed(self, now: float) -> BudgetChanged:
        """As the planner is told of it."""
        capacity = self.capacity or Capacity.constant(1.0)
        return BudgetChanged(now, capacity.at_most(self.line))

    def news(self, now: float) -> float | None:
        """The total, where nodes do not know it yet; from now on they do. To be asked at any event,
        since a turn may have passed while others were waited for."""
        total = math.inf if self.capacity is None else self.capacity.rate_at(now)
        if total == self.told:
            return None
        self.told = total
        return total
