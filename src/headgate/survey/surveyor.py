"""The surveyor: decides which server is asked for which page next, and when enough is known.

Events are methods; each answers with commands. One request at a time is under way per server, and
at most ``slots`` in all. Of the servers that may be asked now, the one with the most promising page
comes first; robots.txt is learned before the first page of an origin.

It ends when nothing is left, when no page promises ``least_yield`` new hosts, or when the
share ``until`` of all hosts is thought to be found. What a server may cost is bounded by
``most_requests`` and ``most_bytes``, robots.txt and redirects included.

Costs: a server waiting is some 1 KB; a host found some 100 bytes; a decision O(log servers).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence

from headgate.model.fetch import FailureKind
from headgate.reading.urls import host, origin
from headgate.survey.answers import Allows, Harvest, RobotsAnswer
from headgate.survey.commands import Command, Done, Fetch, LearnRobots, Wait
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.remaining import Growth, hosts_to_come
from headgate.survey.rules import RegistrableDomain, is_internal
from headgate.survey.server_tree import Asked, ServerState, ServerTree
from headgate.survey.survey_rules import SurveyRules
from headgate.survey.territory import Territory
from headgate.survey.yields import BreadthFirst, PageValues, YieldModel

__all__ = ["Surveyor"]

_MOST_HOPS = 5
_ROBOTS_REQUESTS = 6
"""What robots.txt of one origin may take, redirects included."""
_LOOK_EVERY_SHARE = 1.02
_LOOK_EVERY_PAGES = 64
"""An estimate of what is still to come looks at all that waits, so it is made ever more seldom."""
_AT_ONCE = -math.inf
"""Where a server that was never asked stands: each is probed before any is asked again."""


Recall = Callable[[str], SurveyEntry | None]


class Surveyor:
    """One survey. ``registrable`` says which domain a host was registered under."""

    def __init__(
        self,
        rules: SurveyRules,
        registrable: RegistrableDomain = lambda name: name,
        recall: Recall = lambda url: None,  # noqa: ARG005 - a survey that begins knows nothing
    ) -> None:
        """``recall``: what an interrupted survey stored of a URL, which is not asked for again."""
        self.rules = rules
        self._territory = Territory(rules, registrable)
        self.in_flight = 0
        self.ending = ""
        """Why no further page is asked for; empty while it goes on."""
        self._recall = recall
        self._yields = YieldModel()
        self._values: PageValues = BreadthFirst() if rules.breadth_first else self._yields
        self._growth = Growth(rules.depth)
        self._robots: dict[str, Allows] = {}
        self._started: dict[int, float] = {}
        self._ready: list[tuple[float, int]] = []
        self._resting: list[tuple[float, int]] = []
        self._landed = 0
        self._next_look = _LOOK_EVERY_PAGES

    @property
    def trees(self) -> Sequence[ServerTree]:
        """The servers, the user's first."""
        return self._territory.trees

    @property
    def hosts(self) -> set[str]:
        """External hosts found so far."""
        return self._territory.hosts

    def start(self, urls: Iterable[str]) -> None:
        """The user's list. A further URL of a server already listed is one more of its starts."""
        for url in urls:
            known = self._territory.tree_of(host(url))
            if known is None:
                self._take_in(url, self._territory.plant(url, 0))
            else:
                known.meet(url, 0, "", self._values)

    def begin(self, now: float) -> list[Command]:
        return self._dispatch(now)

    def tick(self, now: float) -> list[Command]:
        return self._dispatch(now)

    def stop(self, reason: str) -> None:
        """Ask for nothing more; what is under way still counts."""
        self.ending = self.ending or reason

    def robots_learned(
        self, server: int, place: str, rules: RobotsAnswer, now: float
    ) -> list[Command]:
        """What robots.txt of an origin says, or that it could not be had."""
        tree = self.trees[server]
        self._robots[place] = rules.allows
        self.in_flight -= 1
        self._started.pop(server)
        tree.pace.excused()
        tree.pace.crawl_delay(rules.crawl_delay)
        self._cost(tree, rules.requests, rules.wire_bytes)
        if rules.failure is not None and not tree.pages_by_depth and place == origin(tree.start):
            tree.close(ServerState.GIVEN_UP, rules.failure.value)
        return self._go_on(tree, now)

    def page(
        self, server: int, asked: Asked, links: Sequence[tuple[str, str]], wire_bytes: int,
        now: float,
    ) -> tuple[Harvest, list[Command]]:  # fmt: skip
        """A page came, with its links and their anchor texts."""
        tree = self.trees[server]
        self._answered(tree, wire_bytes)
        harvest = self._land(tree, asked, links)
        return harvest, self._go_on(tree, now)

    def redirected(
        self, server: int, asked: Asked, target: str, wire_bytes: int, now: float
    ) -> tuple[Harvest, list[Command]]:
        """Within the server it is followed; elsewhere it is a link found."""
        tree = self.trees[server]
        self._answered(tree, wire_bytes)
        harvest = Harvest({}, {}, [], 0)
        self._follow(tree, asked, target, harvest)
        return harvest, self._go_on(tree, now)

    def refused(
        self, server: int, asked: Asked, status: int, retry_after: float | None, wire_bytes: int,
        now: float,
    ) -> list[Command]:  # fmt: skip
        """An error status."""
        tree = self.trees[server]
        self.in_flight -= 1
        self._cost(tree, 1, wire_bytes)
        if status in (429, 503):
            tree.pace.busy(str(status), self._started.pop(server), now, retry_after)
        elif status >= 500:
            tree.pace.erred(str(status))
        else:
            tree.pace.answered()
        self._started.pop(server, None)
        if asked.kind.depth == 0 and not tree.pages_by_depth and not tree.waiting:
            tree.reason = f"status {status}"
        return self._go_on(tree, now)

    def failed(
        self, server: int, asked: Asked, kind: FailureKind, wire_bytes: int, now: float
    ) -> list[Command]:
        """No answer. A server that fails at its first page is dead as far as a survey goes."""
        tree = self.trees[server]
        self.in_flight -= 1
        self._cost(tree, 1, wire_bytes)
        tree.pace.failed(kind.value, self._started.pop(server), now)
        if not tree.pages_by_depth and asked.kind.depth == 0 and not tree.waiting:
            tree.close(ServerState.GIVEN_UP, kind.value)
        return self._go_on(tree, now)

    def share_found(self) -> float:
        """Of all hosts that this survey could find, the part it has, as far as can be foreseen."""
        to_come = hosts_to_come(self._open(), self._yields, self._growth)
        found = len(self.hosts)
        return found / (found + to_come) if found else 0.0

    def best_value(self) -> float:
        """New hosts expected of the most promising page."""
        return max((tree.best(self._values) for tree in self._open()), default=0.0)

    def check(self) -> None:
        busy = sum(tree.pace.in_flight for tree in self.trees)
        assert busy == self.in_flight <= self.rules.slots
        for tree in self.trees:
            tree.check()
            assert tree.pace.in_flight <= 1

    def _take_in(self, url: str, tree: ServerTree) -> None:
        """A new server, to be probed."""
        tree.meet(url, 0, "", self._values)
        self._make_ready(tree)

    def _land(self, tree: ServerTree, asked: Asked, links: Sequence[tuple[str, str]]) -> Harvest:
        harvest = self._reap(tree, asked, links)
        tree.landed(asked, len(harvest.new_hosts), self._values)
        if self._values is not self._yields:
            self._yields.learn(asked.kind, asked.words, len(harvest.new_hosts))
        self._landed += 1
        if self.rules.until < 1.0 and self._landed >= self._next_look:
            self._look_whether_enough()
        return harvest

    def _follow(self, tree: ServerTree, asked: Asked, target: str, harvest: Harvest) -> None:
        if target and is_internal(host(target), tree.domain):
            if asked.hops < _MOST_HOPS:
                tree.meet(target, asked.kind.depth, "", self._values, asked.hops + 1)
        elif target:
            self._external(target, tree, harvest)

    def _reap(self, tree: ServerTree, asked: Asked, links: Sequence[tuple[str, str]]) -> Harvest:
        harvest = Harvest({}, {}, [], 0)
        deeper = asked.kind.depth + 1
        opened = 0
        for url, anchor in links:
            name = host(url)
            if not is_internal(name, tree.domain):
                self._external(url, tree, harvest)
                continue
            harvest.internal += 1
            if deeper <= self.rules.depth and tree.state is ServerState.OPEN:
                opened += tree.meet(url, deeper, anchor, self._values)
        self._growth.learn(asked.kind.depth, opened)
        return harvest

    def _external(self, url: str, tree: ServerTree, harvest: Harvest) -> None:
        planted = self._territory.found(url, tree, harvest)
        if planted is not None:
            self._take_in(planted.start, planted)

    def _answered(self, tree: ServerTree, wire_bytes: int) -> None:
        self.in_flight -= 1
        self._started.pop(tree.number, None)
        tree.pace.answered()
        self._cost(tree, 1, wire_bytes)

    def _cost(self, tree: ServerTree, requests: int, wire_bytes: int) -> None:
        tree.requests += requests
        tree.wire_bytes += wire_bytes

    def _go_on(self, tree: ServerTree, now: float) -> list[Command]:
        if tree.state is ServerState.OPEN:
            if tree.pace.given_up:
                tree.close(ServerState.GIVEN_UP, tree.pace.given_up)
            elif not tree.waiting:
                tree.close(ServerState.DONE)
            elif self._spent(tree):
                tree.close(ServerState.CAPPED)
            elif tree.pace.next_start > now:
                heapq.heappush(self._resting, (tree.pace.next_start, tree.number))
            else:
                self._make_ready(tree)
        return self._dispatch(now)

    def _spent(self, tree: ServerTree) -> bool:
        return tree.requests >= self.rules.most_requests or tree.wire_bytes >= self.rules.most_bytes

    def _make_ready(self, tree: ServerTree) -> None:
        heapq.heappush(self._ready, (self._standing(tree), tree.number))

    def _standing(self, tree: ServerTree) -> float:
        return _AT_ONCE if tree.state is ServerState.WAITING else -tree.best(self._values)

    def _dispatch(self, now: float) -> list[Command]:
        while self._resting and self._resting[0][0] <= now:
            self._make_ready(self.trees[heapq.heappop(self._resting)[1]])
        commands: list[Command] = []
        while self._ready and self.in_flight < self.rules.slots and not self.ending:
            tree = self._most_promising()
            if tree is None:
                break
            command = self._ask(tree, now)
            if command is not None:
                commands.append(command)
        commands.extend(self._what_then())
        return commands

    def _most_promising(self) -> ServerTree | None:
        """Takes the best server out of those ready; None when it is not worth a request."""
        ready = self._ready
        while True:
            stored, number = ready[0]
            tree = self.trees[number]
            standing = self._standing(tree)
            if standing > stored:
                heapq.heapreplace(ready, (standing, number))
                if ready[0][1] != number:
                    continue
            if -standing < self.rules.least_yield:
                return None
            heapq.heappop(ready)
            return tree

    def _ask(self, tree: ServerTree, now: float) -> Command | None:
        """The next request to a server; None when robots.txt leaves none of its pages."""
        tree.state = ServerState.OPEN
        while tree.waiting:
            asked = tree.take(self._values)
            if (stored := self._recall(asked.url)) is not None:
                self._land_again(tree, asked, stored)
                continue
            place = origin(asked.url)
            allows = self._robots.get(place)
            if allows is None and self._no_room_for_robots(tree):
                continue
            if allows is None:
                tree.put_back(asked, self._values)
                self._begin_request(tree, now)
                return LearnRobots(tree.number, place)
            if allows(asked.url):
                self._begin_request(tree, now)
                left = max(self.rules.most_bytes - tree.wire_bytes, 1)
                return Fetch(tree.number, asked, min(left, self.rules.most_page_bytes))
        tree.close(ServerState.DONE, "" if tree.requests else "robots.txt")
        return None

    def _no_room_for_robots(self, tree: ServerTree) -> bool:
        """Another sub-domain's robots.txt may be redirected and must not break the cap."""
        return tree.requests > 0 and tree.requests + _ROBOTS_REQUESTS >= self.rules.most_requests

    def _land_again(self, tree: ServerTree, asked: Asked, stored: SurveyEntry) -> None:
        """What the interrupted survey learned of a page counts as if it had come now."""
        self._cost(tree, stored.requests, stored.wire_bytes)
        match stored.ending:
            case Ending.PAGE | Ending.UNCHANGED:
                self._land(tree, asked, stored.links)
            case Ending.REDIRECT:
                self._follow(tree, asked, stored.detail, Harvest({}, {}, [], 0))
            case _ if not (tree.waiting or tree.pages_by_depth):
                dead = stored.ending is Ending.FAILURE
                tree.close(ServerState.GIVEN_UP if dead else ServerState.DONE, stored.detail)

    def _begin_request(self, tree: ServerTree, now: float) -> None:
        self.in_flight += 1
        tree.pace.started(now)
        self._started[tree.number] = now

    def _what_then(self) -> list[Command]:
        if self.in_flight:
            return [Wait(self._resting[0][0])] if self._resting and not self.ending else []
        if self.ending:
            return [Done(self.ending)]
        if self._resting:
            return [Wait(self._resting[0][0])]
        self.ending = "nothing promises enough" if self._ready else "finished"
        return [Done(self.ending)]

    def _look_whether_enough(self) -> None:
        self._next_look = int(self._landed * _LOOK_EVERY_SHARE) + _LOOK_EVERY_PAGES
        if self.share_found() >= self.rules.until:
            self.stop(f"{self.rules.until:.0%} of the hosts found")

    def _open(self) -> Iterable[ServerTree]:
        return (tree for tree in self.trees if tree.waiting)
