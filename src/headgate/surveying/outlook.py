"""Estimates how much of all hosts a survey has found, and what is still to come."""

from __future__ import annotations

from headgate.surveying.gathering import Gathering
from headgate.surveying.remaining import Level, levels_to_come
from headgate.surveying.rules import SurveyRules
from headgate.surveying.territory import Territory
from headgate.surveying.yields import YieldModel

__all__ = ["Outlook"]

_LOOK_EVERY_SHARE = 1.02
_LOOK_EVERY_PAGES = 64
"""Estimating looks at all waiting pages, so it is done less and less often."""


class Outlook:
    """Reads the surveyor's state and changes nothing."""

    def __init__(
        self, rules: SurveyRules, territory: Territory, yields: YieldModel, gathering: Gathering
    ) -> None:
        self._rules = rules
        self._territory = territory
        self._yields = yields
        self._gathering = gathering
        self._next_look = _LOOK_EVERY_PAGES

    def share_found(self) -> float | None:
        """Estimated part of all hosts that is found; None while none was found."""
        to_come = sum(level.new_hosts for level in self.to_come()[: self._rules.depth + 1])
        found = len(self._territory.hosts)
        return found / (found + to_come) if found else None

    def to_come(self) -> list[Level]:
        """Pages not requested: within the depth, and on the next levels below."""
        trees, growth = self._territory.trees, self._gathering.growth
        return levels_to_come(trees, self._yields, growth, self._rules.depth)

    def next_yield(self) -> float:
        """New hosts expected of the most promising page."""
        kinds = (kind for tree in self._territory.trees for kind, _ in tree.queue.counts())
        return max(map(self._yields.expected, kinds), default=0.0)

    def enough(self) -> bool:
        """Whether the wanted share is found, by the last estimate."""
        pages = self._gathering.pages
        if self._rules.until >= 1.0 or pages < self._next_look:
            return False
        self._next_look = int(pages * _LOOK_EVERY_SHARE) + _LOOK_EVERY_PAGES
        return (self.share_found() or 0.0) >= self._rules.until
