"""Processes the links of a page: further pages of its server, hosts, and new servers.

Pages come from the network or, when an interrupted survey goes on, from its log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headgate.features.survey.strategy.entries import Memory, RequestEnding, SurveyEntry
from headgate.features.survey.strategy.events import Harvest
from headgate.features.survey.strategy.rules import is_internal
from headgate.features.survey.strategy.server_tree import ChosenPage, ServerState, ServerTree
from headgate.features.survey.strategy.territory import Territory
from headgate.features.survey.strategy.yields import PageValues, YieldModel
from headgate.frontier.retries import is_busy
from headgate.reading.urls import host

__all__ = ["Level", "PageSelection", "is_gone", "levels_to_come"]


class PageSelection:
    """``values`` orders pages; ``yields`` learns in any case, to predict what is to come."""

    def __init__(
        self,
        territory: Territory,
        values: PageValues,
        yields: YieldModel,
        depth: int,
        on_new_server: Callable[[ServerTree], None],
    ) -> None:
        """``on_new_server`` is called with each new server."""
        self.pages = 0
        """Gathered so far."""
        self.growth = DepthGrowth(depth)
        self._territory = territory
        self._values = values
        self._yields = yields
        self._depth = depth
        self._on_new_server = on_new_server

    def page(
        self, tree: ServerTree, asked: ChosenPage, links: Sequence[tuple[str, str]]
    ) -> Harvest:
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

    def nothing(self, tree: ServerTree, asked: ChosenPage) -> None:
        """The page does not exist; similar ones may not exist either."""
        asked = tree.as_known_now(asked)
        self.growth.learn(asked.kind.depth, 0)
        self._learn(tree, asked, 0)

    def redirect(self, tree: ServerTree, asked: ChosenPage, target: str) -> Harvest:
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
            asked = tree.pop(self._values)
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

    def _again(
        self, tree: ServerTree, asked: ChosenPage, entry: SurveyEntry
    ) -> tuple[Harvest, str]:
        """What it brings, and what was wrong with it."""
        match entry.ending:
            case RequestEnding.PAGE | RequestEnding.UNCHANGED:
                return self.page(tree, asked, entry.links), ""
            case RequestEnding.REDIRECT:
                return self.redirect(tree, asked, entry.detail), ""
            case RequestEnding.STATUS:
                if is_gone(entry.status):
                    self.nothing(tree, asked)
                return Harvest(), f"status {entry.status}"
            case _:
                return Harvest(), entry.detail

    def _learn(self, tree: ServerTree, asked: ChosenPage, new_hosts: int) -> None:
        self._yields.learn(asked.kind, asked.words, new_hosts)
        tree.queue.unsettle()

    def _internal(self, url: str, anchor: str, tree: ServerTree, depth: int) -> bool:
        if depth > self._depth:
            return tree.glimpse(url, depth)
        return tree.add(url, depth, anchor, self._values)

    def _external(self, url: str, tree: ServerTree, harvest: Harvest) -> None:
        planted = self._territory.found(url, tree, harvest)
        if planted is not None:
            self._on_new_server(planted)


def is_gone(status: int) -> bool:
    """Whether an error is about the page, and not a temporary one of its server.

    >>> is_gone(404), is_gone(429), is_gone(500)
    (True, False, False)
    """
    return 400 <= status < 500 and not is_busy(status)


def _has_query(link: tuple[str, str]) -> bool:
    """Pages without a query come first: they use up no script."""
    return "?" in link[0]


# Estimates what is still to come, by depth.
#
# Each waiting page has a value and opens pages below it. With r(d) pages opened by a page of depth
# d on the average, and b(d) new hosts per page, the pages P and hosts T still to come are
#
#     P(d) = waiting(d) + P(d - 1) * r(d - 1)
#     T(d) = value of what waits(d) + T(d - 1) * r(d - 1) * b(d) / b(d - 1)
#
# This ignores that hosts may be found twice, so it is too high if servers share links; the fading
# of yields compensates for most of that.
#
# Below the depth limit, links were seen but not followed: so many pages wait there. Their yield was
# never measured; b is assumed to fall as it did before, and r and the factors of servers, sections
# and words to stay.


_LEVELS_BELOW = 4


@dataclass(frozen=True, slots=True)
class Level:
    """What was not requested of one depth."""

    depth: int
    pages: float
    new_hosts: float


class DepthGrowth:
    """Pages opened per page, by depth; two numbers per level."""

    __slots__ = ("_opened", "_pages")

    def __init__(self, deepest: int) -> None:
        self._opened = [0.0] * (deepest + 1)
        self._pages = [0.0] * (deepest + 1)

    def learn(self, depth: int, opened: int) -> None:
        self._opened[depth] += opened
        self._pages[depth] += 1

    def ratio(self, depth: int) -> float:
        """Below the depth limit, as just above it: how trees end is unknown."""
        depth = min(depth, len(self._pages) - 1)
        return self._opened[depth] / max(self._pages[depth], 1.0)


def levels_to_come(
    trees: Iterable[ServerTree], model: YieldModel, growth: DepthGrowth, deepest: int
) -> list[Level]:
    """From depth 0 to some levels below ``deepest``. Costs a look at every kind that waits."""
    pages = [0.0] * (deepest + 1 + _LEVELS_BELOW)
    hosts = [0.0] * len(pages)
    for tree in trees:
        for kind, count in tree.queue.counts():
            pages[kind.depth] += count
            hosts[kind.depth] += count * model.expected(kind)
        pages[deepest + 1] += tree.beyond
    yields = _yields(model, deepest, len(pages))
    hosts[deepest + 1] += pages[deepest + 1] * yields[deepest + 1] * model.usual_factor(deepest)
    for depth in range(1, len(pages)):
        ratio = growth.ratio(depth - 1)
        pages[depth] += pages[depth - 1] * ratio
        hosts[depth] += hosts[depth - 1] * ratio * yields[depth] / yields[depth - 1]
    return [Level(depth, *both) for depth, both in enumerate(zip(pages, hosts, strict=True))]


def _yields(model: YieldModel, deepest: int, count: int) -> list[float]:
    """b of every level; below ``deepest`` it falls as it did on the last levels."""
    known = model.depth_profile(deepest)
    since = max(deepest - _LEVELS_BELOW, 0)
    fall = min(known[deepest] / known[since], 1.0) ** (1 / max(deepest - since, 1))
    return known + [known[deepest] * fall**step for step in range(1, count - deepest)]
