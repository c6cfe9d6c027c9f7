"""How much a survey has found of what it could find, and what is still to come."""

from __future__ import annotations

from headgate.surveying.gathering import Gathering
from headgate.surveying.remaining import Level, levels_to_come
from headgate.surveying.rules import SurveyRules
from headgate.surveying.territory import Territory
from headgate.surveying.yields import YieldModel

__all__ = ["Outlook"]

_LOOK_EVERY_SHARE = 1.02
_LOOK_EVERY_PAGES = 64
"""An estimate of what is still to come looks at all that waits, so it is made ever more seldom."""


class Outlook:
    """Looks at what the surveyor has gathered; changes nothing of it."""

    def __init__(
        self, rules: SurveyRules, territory: Territory, yields: YieldModel, gathering: Gathering
    ) -> None:
        self._rules = rules
        self._territory = territory
        self._yields = yields
        self._gathering = gathering
        self._next_look = _LOOK_EVERY_PAGES

    def share_found(self) -> float | None:
        """Of all hosts that this survey could find, the part it has, as far as can be foreseen.
        None while none was found: there is nothing to judge by."""
        to_come = sum(level.new_hosts for level in self.to_come()[: self._rules.depth + 1])
        found = len(self._territory.hosts)
        return found / (found + to_come) if found else None

    def to_come(self) -> list[Level]:
        """What was not asked for: within the depth, and on the next levels below."""
        trees, growth = self._territory.trees, self._gathering.growth
        return levels_to_come(trees, self._yields, growth, self._rules.depth)

    def next_yield(self) -> float:
        """New hosts expected of the most promising page."""
        kinds = (kind for tree in self._territory.trees for kind, _ in tree.queue.counts())
        return max(map(self._yields.expected, kinds), default=0.0)

    def enough(self) -> bool:
        """Whether the share that is wanted is found, as far as was looked."""
        pages = self._gathering.pages
        if self._rules.until >= 1.0 or pages < self._next_look:
            return False
        self._next_look = int(pages * _LOOK_EVERY_SHARE) + _LOOK_EVERY_PAGES
        return (self.share_found() or 0.0) >= self._rules.until
