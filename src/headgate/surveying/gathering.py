"""Processes the links of a page: further pages of its server, hosts, and new servers.

Pages come from the network or, when an interrupted survey goes on, from its log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.reading.urls import host
from headgate.surveying.answers import Harvest
from headgate.surveying.domains import is_internal
from headgate.surveying.entries import Ending, SurveyEntry
from headgate.surveying.kind_queue import Asked
from headgate.surveying.memory import Memory
from headgate.surveying.remaining import Growth
from headgate.surveying.server_tree import ServerState, ServerTree
from headgate.surveying.territory import Territory
from headgate.surveying.yields import PageValues, YieldModel

__all__ = ["Gathering", "is_gone"]

_TOO_MANY_REQUESTS = 429


class Gathering:
    """``values`` orders pages; ``yields`` learns in any case, to predict what is to come."""

    def __init__(
        self,
        territory: Territory,
        values: PageValues,
        yields: YieldModel,
        depth: int,
        take_in: Callable[[ServerTree], None],
    ) -> None:
        """``take_in`` is called with each new server."""
        self.pages = 0
        """Gathered so far."""
        self.growth = Growth(depth)
        self._territory = territory
        self._values = values
        self._yields = yields
        self._depth = depth
        self._take_in = take_in

    def page(self, tree: ServerTree, asked: Asked, links: Sequence[tuple[str, str]]) -> Harvest:
        """A page with its links and their anchor texts."""
        harvest = Harvest()
        asked = tree.as_known_now(asked)
        inside = []
        opened = 0
        for url, anchor in sorted(links, key=_has_query):
            name = host(url)
            if not is_internal(name, tree.domain):
                self._external(url, tree, harvest)
            elif tree.state is ServerState.OPEN and self._territory.tree_of(name) is tree:
                opened += self._internal(url, anchor, tree, asked.kind.depth + 1)
                inside.append(url)
        if inside:
            tree.read(asked, inside, self._depth, self._values)
        self.growth.learn(asked.kind.depth, opened)
        tree.pages += 1
        self._learn(tree, asked, len(harvest.new_hosts))
        self.pages += 1
        return harvest

    def nothing(self, tree: ServerTree, asked: Asked) -> None:
        """The page does not exist; similar ones may not exist either."""
        asked = tree.as_known_now(asked)
        self.growth.learn(asked.kind.depth, 0)
        self._learn(tree, asked, 0)

    def redirect(self, tree: ServerTree, asked: Asked, target: str) -> Harvest:
        """Within the server it is followed; else it counts as a link."""
        harvest = Harvest()
        if target and is_internal(host(target), tree.domain):
            if self._territory.tree_of(host(target)) is tree:
                tree.follow(tree.as_known_now(asked), target, self._depth, self._values)
        elif target:
            self._external(target, tree, harvest)
        return harvest

    def replay(self, tree: ServerTree, stored: Memory) -> dict[str, list[str]]:
        """Process what an interrupted survey logged of a server, as if it came now.

        None of its pages is left out, even if others would be chosen today. Returns new hosts by
        the page that links to them.
        """
        others = []
        trouble = ""
        found: dict[str, list[str]] = {}
        while tree.waiting:
            asked = tree.take(self._values)
            entry = stored.find(asked.url)
            if entry is None:
                others.append(asked)
            else:
                tree.rule.fetched(asked.url)
                harvest, wrong = self._again(tree, asked, entry)
                trouble = wrong or trouble
                if harvest.new_hosts:
                    found[asked.url] = harvest.new_hosts
        for asked in reversed(others):
            tree.queue.put_back(asked)
        if not (tree.waiting or tree.pages):
            tree.reason = tree.reason or trouble
        return found

    def _again(self, tree: ServerTree, asked: Asked, entry: SurveyEntry) -> tuple[Harvest, str]:
        """What it brings, and what was wrong with it."""
        match entry.ending:
            case Ending.PAGE | Ending.UNCHANGED:
                return self.page(tree, asked, entry.links), ""
            case Ending.REDIRECT:
                return self.redirect(tree, asked, entry.detail), ""
            case Ending.STATUS:
                if is_gone(entry.status):
                    self.nothing(tree, asked)
                return Harvest(), f"status {entry.status}"
            case _:
                return Harvest(), entry.detail

    def _learn(self, tree: ServerTree, asked: Asked, new_hosts: int) -> None:
        self._yields.learn(asked.kind, asked.words, new_hosts)
        tree.queue.unsettle()

    def _internal(self, url: str, anchor: str, tree: ServerTree, depth: int) -> bool:
        if depth > self._depth:
            return tree.glimpse(url, depth)
        return tree.meet(url, depth, anchor, self._values)

    def _external(self, url: str, tree: ServerTree, harvest: Harvest) -> None:
        planted = self._territory.found(url, tree, harvest)
        if planted is not None:
            self._take_in(planted)


def is_gone(status: int) -> bool:
    """Whether an error is about the page, and not a temporary one of its server.

    >>> is_gone(404), is_gone(429), is_gone(503)
    (True, False, False)
    """
    return 400 <= status < 500 and status != _TOO_MANY_REQUESTS


def _has_query(link: tuple[str, str]) -> bool:
    """Pages without a query come first: they use up no script."""
    return "?" in link[0]
