"""Which request a server gets next: its most promising page, under robots.txt and within its caps.

The load on a server is bounded by ``most_requests`` and ``most_bytes``, including robots.txt and
redirects. robots.txt is fetched before the first page of an origin.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.reading.urls import origin
from headgate.surveying.answers import Allows
from headgate.surveying.commands import Fetch, LearnRobots
from headgate.surveying.rules import SurveyRules
from headgate.surveying.server_tree import ServerTree
from headgate.surveying.yields import PageValues

__all__ = ["Asking", "Later"]

_ROBOTS_AND_PAGE = 2
"""Least number of requests for a further origin."""
_REFUSALS_AT_A_TIME = 50
"""Forbidden pages of one server that are skipped at a time, so that it does not hold up the
others."""


@dataclass(frozen=True, slots=True)
class Later:
    """Many pages were forbidden, and more are to be checked: other servers go first."""


class Asking:
    """Remembers the rules of each origin."""

    def __init__(self, rules: SurveyRules, values: PageValues) -> None:
        self._rules = rules
        self._values = values
        self._robots: dict[str, Allows] = {}

    def learned(self, place: str, allows: Allows) -> None:
        """What robots.txt of an origin allows."""
        self._robots[place] = allows

    def next(self, tree: ServerTree) -> Fetch | LearnRobots | Later | None:
        """The next request; None: nothing is left that may be requested."""
        refusals = 0
        while tree.waiting and not self.spent(tree):
            if refusals == _REFUSALS_AT_A_TIME:
                return Later()
            asked = tree.take(self._values)
            if tree.rule.used_up(asked.url):
                continue
            place = origin(asked.url)
            allows = self._robots.get(place)
            if allows is None:
                if not self.room_for_an_origin(tree):
                    continue
                tree.queue.put_back(asked)
                left = self._rules.most_requests - tree.requests
                return LearnRobots(tree.number, place, left - 1, self._bytes_left(tree))
            if allows(asked.url):
                tree.rule.fetched(asked.url)
                most = min(self._bytes_left(tree), self._rules.most_page_bytes)
                return Fetch(tree.number, asked, most)
            refusals += 1
        return None

    def spent(self, tree: ServerTree) -> bool:
        """Whether its caps leave no room for another request."""
        return not self._room(tree, 1)

    def room_for_an_origin(self, tree: ServerTree) -> bool:
        """Whether its caps leave room for robots.txt of another origin and a page."""
        return self._room(tree, _ROBOTS_AND_PAGE)

    def _room(self, tree: ServerTree, requests: int) -> bool:
        return (
            tree.requests + requests <= self._rules.most_requests
            and tree.wire_bytes < self._rules.most_bytes
        )

    def _bytes_left(self, tree: ServerTree) -> int:
        return max(self._rules.most_bytes - tree.wire_bytes, 1)
