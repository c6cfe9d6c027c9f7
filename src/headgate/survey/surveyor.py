"""The surveyor: decides which server is asked for which page next, and when enough is known.

Events are methods; each answers with commands. One request at a time is under way per server, and
as many in all as there are slots (`slots`). Of the servers that may be asked now, the one with the
most promising page comes first (`turns`); robots.txt is learned before the first page of an origin.

It ends when nothing is left, when no page promises ``least_yield`` new hosts, or when the
share ``until`` of all hosts is thought to be found. What a server may cost is bounded by
``most_requests`` and ``most_bytes``, robots.txt and redirects included.

Costs: a server waiting is some 2 KB; a host found some 100 bytes; a decision O(log servers).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.model.fetch import FailureKind
from headgate.reading.urls import host, origin
from headgate.survey.answers import Allows, Harvest, RobotsAnswer
from headgate.survey.commands import Command, Done, Fetch, LearnRobots, Wait
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.gathering import Gathering
from headgate.survey.memory import NO_MEMORY, Memory
from headgate.survey.remaining import Level, levels_to_come
from headgate.survey.rules import RegistrableDomain
from headgate.survey.server_tree import Asked, ServerState, ServerTree
from headgate.survey.slots import Slots
from headgate.survey.survey_rules import SurveyRules
from headgate.survey.territory import Territory
from headgate.survey.turns import Turns
from headgate.survey.yields import BreadthFirst, PageValues, YieldModel

__all__ = ["Surveyor"]

_ROBOTS_AND_PAGE = 2
"""Requests that a further origin takes at the least."""
_LOOK_EVERY_SHARE = 1.02
_LOOK_EVERY_PAGES = 64
"""An estimate of what is still to come looks at all that waits, so it is made ever more seldom."""


class Surveyor:
    """One survey. ``registrable`` says which domain a host was registered under."""

    def __init__(
        self,
        rules: SurveyRules,
        registrable: RegistrableDomain = lambda name: name,
        stored: Memory = NO_MEMORY,
        earlier: Memory = NO_MEMORY,
    ) -> None:
        """``stored``: what this survey knew when it was interrupted, which is not asked for again.
        ``earlier``: the survey before it, which knows who was silent."""
        self.rules = rules
        self._territory = Territory(rules, registrable)
        self._under_way = Slots(rules.slots)
        self.probed = 0
        """Servers that were asked for anything."""
        self.requests = 0
        self.wire_bytes = 0
        self.ending = ""
        """Why no further page is asked for; empty while it goes on."""
        self._stored = stored
        self._earlier = earlier
        self._yields = YieldModel()
        self._values: PageValues = BreadthFirst() if rules.breadth_first else self._yields
        self._gathering = Gathering(
            self._territory, self._values, self._yields, rules.depth, self._take_in
        )
        self._robots: dict[str, Allows] = {}
        self._turns = Turns(self.trees, self._values, rules.least_yield, rules.slots)
        self._rich: list[tuple[str, int]] = []
        """Pages of the survey before that brought hosts, and their depths."""
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
                self._take_in(self._territory.plant(url, 0))
            else:
                known.meet(url, 0, "", self._values)
        for url, depth in () if self.rules.breadth_first else self._rich:
            tree = self._territory.tree_of(host(url))
            if tree is not None:
                tree.meet(url, depth, "", self._values)
        self._rich.clear()

    def remember(self, entries: Iterable[SurveyEntry]) -> None:
        """The survey before, told before `start`: its pages that brought hosts are asked for
        without being met again, those that brought none come last."""
        for entry in entries:
            if entry.ending in (Ending.PAGE, Ending.UNCHANGED):
                self._yields.remember(entry.url, len(entry.new_hosts))
                if entry.new_hosts and 0 < entry.depth <= self.rules.depth:
                    self._rich.append((entry.url, entry.depth))

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
        self._under_way.end(server)
        tree.pace.excused()
        tree.pace.crawl_delay(rules.crawl_delay)
        self._cost(tree, rules.requests, rules.wire_bytes)
        if rules.trouble and not tree.pages_by_depth and place == origin(tree.start):
            tree.close(ServerState.GIVEN_UP, rules.trouble)
        return self._go_on(tree, now)

    def page(
        self, server: int, asked: Asked, links: Sequence[tuple[str, str]], wire_bytes: int,
        now: float,
    ) -> tuple[Harvest, list[Command]]:  # fmt: skip
        """A page came, with its links and their anchor texts."""
        tree = self.trees[server]
        self._answered(tree, wire_bytes)
        harvest = self._gathering.page(tree, asked, links)
        self._look_whether_enough()
        return harvest, self._go_on(tree, now)

    def redirected(
        self, server: int, asked: Asked, target: str, wire_bytes: int, now: float
    ) -> tuple[Harvest, list[Command]]:
        """A redirect came."""
        tree = self.trees[server]
        self._answered(tree, wire_bytes)
        harvest = self._gathering.redirect(tree, asked, target)
        return harvest, self._go_on(tree, now)

    def refused(
        self, server: int, asked: Asked, status: int, retry_after: float | None, wire_bytes: int,
        now: float,
    ) -> list[Command]:  # fmt: skip
        """An error status."""
        tree = self.trees[server]
        began = self._under_way.end(server)
        self._cost(tree, 1, wire_bytes)
        if status in (429, 503):
            tree.pace.busy(str(status), began, now, retry_after)
        elif status >= 500:
            tree.pace.erred(str(status))
        else:
            tree.pace.answered()
        if asked.kind.depth == 0 and not tree.pages_by_depth and not tree.waiting:
            tree.reason = f"status {status}"
        return self._go_on(tree, now)

    def failed(
        self, server: int, asked: Asked, kind: FailureKind, wire_bytes: int, now: float
    ) -> list[Command]:
        """No answer. A server that fails at its first page is dead as far as a survey goes."""
        tree = self.trees[server]
        self._cost(tree, 1, wire_bytes)
        tree.pace.failed(kind.value, self._under_way.end(server), now)
        if not tree.pages_by_depth and asked.kind.depth == 0 and not tree.waiting:
            tree.close(ServerState.GIVEN_UP, kind.value)
        return self._go_on(tree, now)

    def share_found(self) -> float:
        """Of all hosts that this survey could find, the part it has, as far as can be foreseen."""
        to_come = sum(level.new_hosts for level in self.to_come()[: self.rules.depth + 1])
        found = len(self.hosts)
        return found / (found + to_come) if found else 0.0

    def to_come(self) -> list[Level]:
        """What was not asked for: within the depth, and on the next levels below."""
        return levels_to_come(self.trees, self._yields, self._gathering.growth, self.rules.depth)

    def best_value(self) -> float:
        """New hosts expected of the most promising page."""
        return max((tree.best(self._values) for tree in self._open()), default=0.0)

    def check(self) -> None:
        busy = sum(tree.pace.in_flight for tree in self.trees)
        assert busy == len(self._under_way)
        self._under_way.check()
        for tree in self.trees:
            tree.check()
            assert tree.pace.in_flight <= 1

    def _take_in(self, tree: ServerTree) -> None:
        """A new server, to be probed."""
        tree.meet(tree.start, 0, "", self._values)
        record = self._earlier.server(tree.domain)
        if record is not None and record.silent:
            self._turns.suspect(tree)
        else:
            self._turns.ready(tree)

    def _answered(self, tree: ServerTree, wire_bytes: int) -> None:
        self._under_way.end(tree.number)
        tree.pace.answered()
        self._cost(tree, 1, wire_bytes)

    def _cost(self, tree: ServerTree, requests: int, wire_bytes: int) -> None:
        tree.requests += requests
        tree.wire_bytes += wire_bytes
        self.requests += requests
        self.wire_bytes += wire_bytes

    def _go_on(self, tree: ServerTree, now: float) -> list[Command]:
        self._turns.answered(tree)
        if tree.state is ServerState.OPEN:
            if tree.pace.given_up:
                tree.close(ServerState.GIVEN_UP, tree.pace.given_up)
            elif not tree.waiting:
                tree.close(ServerState.DONE)
            elif self._spent(tree):
                tree.close(ServerState.CAPPED)
            elif tree.pace.next_start > now:
                self._turns.rest(tree, tree.pace.next_start)
            else:
                self._turns.ready(tree)
        return self._dispatch(now)

    def _spent(self, tree: ServerTree, requests: int = 1) -> bool:
        """Whether its caps leave no room for so many requests more."""
        return (
            tree.requests + requests > self.rules.most_requests
            or tree.wire_bytes >= self.rules.most_bytes
        )

    def _dispatch(self, now: float) -> list[Command]:
        self._turns.wake(now)
        commands: list[Command] = []
        while self._under_way.free(now):
            tree = self._turns.take_suspect() if self.ending else self._turns.take()
            if tree is None:
                break
            command = self._ask(tree, now)
            if command is not None:
                commands.append(command)
        commands.extend(self._what_then(now))
        return commands

    def _ask(self, tree: ServerTree, now: float) -> Command | None:
        """The next request to a server; None when nothing of it may be asked for."""
        if tree.state is ServerState.WAITING:
            tree.state = ServerState.OPEN
            self.probed += 1
            self._replay(tree)
        while tree.waiting and not self._spent(tree):
            asked = tree.take(self._values)
            if tree.rule.used_up(asked.url):
                continue
            place = origin(asked.url)
            allows = self._robots.get(place)
            if allows is None:
                if self._spent(tree, _ROBOTS_AND_PAGE):
                    continue
                tree.put_back(asked)
                self._begin_request(tree, now)
                left = self.rules.most_requests - tree.requests
                return LearnRobots(tree.number, place, left - 1, self._bytes_left(tree))
            if allows(asked.url):
                tree.rule.fetched(asked.url)
                self._begin_request(tree, now)
                most = min(self._bytes_left(tree), self.rules.most_page_bytes)
                return Fetch(tree.number, asked, most)
        self._turns.answered(tree)
        if tree.state is ServerState.OPEN:
            capped = self._spent(tree, _ROBOTS_AND_PAGE)
            tree.close(
                ServerState.CAPPED if capped else ServerState.DONE,
                "" if tree.pages_by_depth else "robots.txt",
            )
        return None

    def _bytes_left(self, tree: ServerTree) -> int:
        return max(self.rules.most_bytes - tree.wire_bytes, 1)

    def _replay(self, tree: ServerTree) -> None:
        """What the interrupted survey knew of a server; its cost counts first."""
        record = self._stored.server(tree.domain)
        if record is None:
            return
        self._cost(tree, record.requests, record.wire_bytes)
        if record.silent:
            tree.close(ServerState.GIVEN_UP, record.silent)
        self._gathering.replay(tree, self._stored)

    def _begin_request(self, tree: ServerTree, now: float) -> None:
        self._under_way.begin(tree.number, now)
        tree.pace.started(now)

    def _what_then(self, now: float) -> list[Command]:
        wakes = [wake for wake in (self._turns.next_wake, self._next_slot(now)) if wake is not None]
        if not self.ending and wakes:
            return [Wait(min(wakes))]
        if self._under_way:
            return []
        self.ending = self.ending or (
            "nothing promises enough" if self._turns.anyone else "finished"
        )
        return [Done(self.ending)]

    def _next_slot(self, now: float) -> float | None:
        """When a slow request makes room, if somebody waits for that."""
        return None if self._under_way.free(now) else self._under_way.next_free

    def _look_whether_enough(self) -> None:
        pages = self._gathering.pages
        if self.rules.until < 1.0 and pages >= self._next_look:
            self._next_look = int(pages * _LOOK_EVERY_SHARE) + _LOOK_EVERY_PAGES
            if self.share_found() >= self.rules.until:
                self.stop(f"{self.rules.until:.0%} of the hosts found")

    def _open(self) -> Iterable[ServerTree]:
        return (tree for tree in self.trees if tree.waiting)
