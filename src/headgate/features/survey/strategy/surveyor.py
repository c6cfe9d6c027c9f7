"""The surveyor: decides which page of which server to request next, and when to end.

Events in, commands out (`handle`); no clock, no I/O. One request at a time is in flight per server,
and as many in all as there are slots (`slots`). Of the servers that are ready, the one with the
most promising page comes first (`turns`); `turns` chooses the page.

It ends when nothing is left, when no page promises ``least_yield`` new hosts, or when the share
``until`` of all hosts is probably found (`outlook`).

Costs: a server waiting is some 2 KB; a host found some 100 bytes; a decision O(log servers).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headgate.features.survey.strategy.entries import NO_MEMORY, Memory, RequestEnding, SurveyEntry
from headgate.features.survey.strategy.events import (
    Command,
    Event,
    Harvest,
    Landed,
    PageCame,
    PageFailed,
    PageMoved,
    PageRefused,
    RobotsCame,
)
from headgate.features.survey.strategy.page_selection import (
    Level,
    PageSelection,
    is_gone,
    levels_to_come,
)
from headgate.features.survey.strategy.rules import RegistrableDomain, SurveyRules
from headgate.features.survey.strategy.server_tree import ServerState, ServerTree
from headgate.features.survey.strategy.territory import Territory
from headgate.features.survey.strategy.turns import Later, RequestChoice, ServerSlots, ServerTurns
from headgate.features.survey.strategy.yields import BreadthFirst, PageValues, YieldModel
from headgate.frontier.events import Done, Tick, Wait
from headgate.frontier.retries import is_busy
from headgate.reading.urls import host, origin

__all__ = ["Decision", "Surveyor"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of an event."""

    commands: list[Command]
    harvest: Harvest = field(default_factory=Harvest)
    """What a page or a redirect brought."""


class Surveyor:
    """One survey. ``registrable`` says which domain a host was registered under."""

    def __init__(
        self,
        rules: SurveyRules,
        registrable: RegistrableDomain = lambda name: name,
        stored: Memory = NO_MEMORY,
        earlier: Memory = NO_MEMORY,
    ) -> None:
        """``stored``: what this survey knew when it was interrupted, which is not requested again.
        ``earlier``: the previous survey, which knows servers that did not answer."""
        self.rules = rules
        self.territory = Territory(rules, registrable)
        """Which server a host belongs to."""
        self.trees = self.territory.trees
        """The servers, the user's first."""
        self.hosts = self.territory.hosts
        """External hosts found so far."""
        self.probed = 0
        """Servers with at least one request."""
        self.requests = 0
        self.wire_bytes = 0
        self.ending = ""
        """Why no further page is requested; empty while it goes on."""
        self._stored = stored
        self._earlier = earlier
        self._yields = YieldModel()
        self._values: PageValues = BreadthFirst() if rules.breadth_first else self._yields
        self._selection = PageSelection(
            self.territory, self._values, self._yields, rules.depth, self._add_server
        )
        self.outlook = SurveyOutlook(rules, self.territory, self._yields, self._selection)
        self._choice = RequestChoice(rules, self._values)
        self._under_way = ServerSlots(rules.slots)
        self._turns = ServerTurns(self.trees, self._values, rules.least_yield, rules.slots)
        self._rich: list[tuple[str, int]] = []
        """Pages of the previous survey that brought hosts, and their depths."""

    def start(self, urls: Iterable[str]) -> None:
        """Add the user's list. A further URL of a known server is another start of it."""
        for url in urls:
            known = self.territory.tree_of(host(url))
            if known is None:
                self._add_server(self.territory.plant(url, 0))
            else:
                known.add(url, 0, "", self._values)
        for url, depth in () if self.rules.breadth_first else self._rich:
            tree = self.territory.tree_of(host(url))
            if tree is not None:
                tree.add(url, depth, "", self._values)
        self._rich.clear()

    def remember(self, entries: Iterable[SurveyEntry]) -> None:
        """Take in the previous survey, before `start`: pages that brought hosts are requested
        without being found again, those that brought none come last."""
        for entry in entries:
            if entry.ending in (RequestEnding.PAGE, RequestEnding.UNCHANGED):
                self._yields.remember(entry.url, len(entry.new_hosts))
                if entry.new_hosts and 0 < entry.depth <= self.rules.depth:
                    self._rich.append((entry.url, entry.depth))

    def handle(self, event: Event, now: float) -> Decision:
        """Process an event; returns what to do now. The first event is a tick."""
        if isinstance(event, Tick):
            return Decision(self._dispatch(now))
        tree = self.trees[event.server]
        began = self._under_way.end(event.server)
        harvest = Harvest()
        if isinstance(event, RobotsCame):
            self._learned(tree, event)
        else:
            self._cost(tree, 1, event.wire_bytes)
            _keep_pace(tree, event, began, now)
            harvest = self._gather(tree, event)
        self._go_on(tree, now)
        return Decision(self._dispatch(now), harvest)

    def gather(
        self, number: int, stored: Memory, given_up: str, *, whole: bool
    ) -> dict[str, list[str]]:
        """Take in a server that was surveyed by a node; nothing is requested here. ``given_up``:
        why it was given up; ``whole``: nothing was left to request. Returns new hosts by the page
        that links to them."""
        tree = self.trees[number]
        assert tree.state is ServerState.WAITING
        tree.state = ServerState.OPEN
        self.probed += 1
        found = self._replay(tree, stored)
        if tree.state is ServerState.OPEN:
            if given_up:
                tree.close(ServerState.GIVEN_UP, given_up)
            elif tree.waiting and not self._choice.room_for_an_origin(tree):
                tree.close(ServerState.CAPPED)
            elif whole:
                tree.close(ServerState.DONE, "" if tree.pages else "robots.txt")
        if self.outlook.enough():
            self.stop(f"{self.rules.until:.0%} of the hosts found")
        return found

    def stop(self, reason: str) -> None:
        """Make no more requests; those in flight still count."""
        self.ending = self.ending or reason

    def check(self) -> None:
        busy = sum(tree.pace.in_flight for tree in self.trees)
        assert busy == len(self._under_way)
        self._under_way.check()
        for tree in self.trees:
            tree.check()
            assert tree.pace.in_flight <= 1

    def _add_server(self, tree: ServerTree) -> None:
        """A new server, to be probed."""
        tree.add(tree.start, 0, "", self._values)
        record = self._earlier.server(tree.domain)
        if record is not None and record.silent:
            self._turns.suspect(tree)
        else:
            self._turns.ready(tree)

    def _learned(self, tree: ServerTree, event: RobotsCame) -> None:
        rules = event.rules
        self._choice.learned(tree, event.origin, rules.allows)
        tree.pace.excused()
        tree.pace.crawl_delay(rules.crawl_delay)
        self._cost(tree, rules.requests, rules.wire_bytes)
        if rules.trouble and not tree.pages and event.origin == origin(tree.start):
            tree.close(ServerState.GIVEN_UP, rules.trouble)

    def _gather(self, tree: ServerTree, event: Landed) -> Harvest:
        """A server that fails at its first page counts as dead."""
        first = event.asked.kind.depth == 0 and not tree.pages and not tree.waiting
        match event:
            case PageCame(links=links):
                harvest = self._selection.page(tree, event.asked, links)
                if self.outlook.enough():
                    self.stop(f"{self.rules.until:.0%} of the hosts found")
                return harvest
            case PageMoved(target=target):
                return self._selection.redirect(tree, event.asked, target)
            case PageRefused(status=status):
                if is_gone(status):
                    self._selection.nothing(tree, event.asked)
                if first:
                    tree.reason = f"status {status}"
            case PageFailed(kind=kind) if first:
                tree.close(ServerState.GIVEN_UP, kind.value)
        return Harvest()

    def _cost(self, tree: ServerTree, requests: int, wire_bytes: int) -> None:
        tree.requests += requests
        tree.wire_bytes += wire_bytes
        self.requests += requests
        self.wire_bytes += wire_bytes

    def _go_on(self, tree: ServerTree, now: float) -> None:
        self._turns.answered(tree)
        if tree.state is ServerState.OPEN:
            self._rest_or_end(tree, now)
        if tree.state is not ServerState.OPEN:
            self._choice.forget(tree)

    def _rest_or_end(self, tree: ServerTree, now: float) -> None:
        if tree.pace.given_up:
            tree.close(ServerState.GIVEN_UP, tree.pace.given_up)
        elif not tree.waiting:
            tree.close(ServerState.DONE)
        elif self._choice.spent(tree):
            tree.close(ServerState.CAPPED)
        elif tree.pace.next_start > now:
            self._turns.rest(tree, tree.pace.next_start)
        else:
            self._turns.ready(tree)

    def _dispatch(self, now: float) -> list[Command]:
        self._turns.wake(now)
        commands: list[Command] = []
        while self._under_way.free(now):
            tree = self._turns.pop_suspect() if self.ending else self._turns.pop()
            if tree is None:
                break
            command = self._ask(tree, now)
            if command is not None:
                commands.append(command)
        commands.extend(self._what_then(now))
        return commands

    def _ask(self, tree: ServerTree, now: float) -> Command | None:
        """The next request to a server; None: nothing now."""
        if tree.state is ServerState.WAITING:
            tree.state = ServerState.OPEN
            self.probed += 1
            self._replay(tree, self._stored)
        command = self._choice.next(tree)
        if isinstance(command, Later):
            self._turns.rest(tree, now)
            return None
        if command is not None:
            self._under_way.begin(tree.number, now)
            tree.pace.started(now)
            return command
        self._turns.answered(tree)
        if tree.state is ServerState.OPEN:
            done = self._choice.room_for_an_origin(tree)
            state = ServerState.DONE if done else ServerState.CAPPED
            tree.close(state, "" if tree.pages else "robots.txt")
        self._choice.forget(tree)
        return None

    def _replay(self, tree: ServerTree, stored: Memory) -> dict[str, list[str]]:
        """Process what is known of a server already; its cost counts first. Returns new hosts by
        page."""
        record = stored.server(tree.domain)
        if record is None:
            return {}
        self._cost(tree, record.requests, record.wire_bytes)
        if record.silent:
            tree.close(ServerState.GIVEN_UP, record.silent)
        return self._selection.replay(tree, stored)

    def _what_then(self, now: float) -> list[Command]:
        slot = None if self._under_way.free(now) else self._under_way.next_free
        wakes = [wake for wake in (self._turns.next_wake, slot) if wake is not None]
        if not self.ending and wakes:
            return [Wait(min(wakes))]
        if self._under_way:
            return []
        self.ending = self.ending or (
            "nothing promises enough" if self._turns.anyone else "finished"
        )
        return [Done(self.ending)]


def _keep_pace(tree: ServerTree, event: Landed, began: float, now: float) -> None:
    """Adapt the pace to an answer."""
    match event:
        case PageFailed(kind=kind):
            tree.pace.failed(kind.value, began, now)
        case PageRefused(status=status, retry_after=retry_after) if is_busy(status):
            tree.pace.busy(str(status), began, now, retry_after)
        case PageRefused(status=status) if status >= 500:
            tree.pace.erred(str(status))
        case _:
            tree.pace.answered()


_LOOK_EVERY_SHARE = 1.02
_LOOK_EVERY_PAGES = 64
"""Estimating looks at all waiting pages, so it is done less and less often."""


class SurveyOutlook:
    """Estimates how much of all hosts a survey has found, and what is still to come.

    Reads the surveyor's state and changes nothing.
    """

    def __init__(
        self, rules: SurveyRules, territory: Territory, yields: YieldModel, selection: PageSelection
    ) -> None:
        self._rules = rules
        self._territory = territory
        self._yields = yields
        self._selection = selection
        self._next_look = _LOOK_EVERY_PAGES

    def share_found(self) -> float | None:
        """Estimated part of all hosts that is found; None while none was found."""
        to_come = sum(level.new_hosts for level in self.to_come()[: self._rules.depth + 1])
        found = len(self._territory.hosts)
        return found / (found + to_come) if found else None

    def to_come(self) -> list[Level]:
        """Pages not requested: within the depth, and on the next levels below."""
        trees, growth = self._territory.trees, self._selection.growth
        return levels_to_come(trees, self._yields, growth, self._rules.depth)

    def next_yield(self) -> float:
        """New hosts expected of the most promising page."""
        kinds = (kind for tree in self._territory.trees for kind, _ in tree.queue.counts())
        return max(map(self._yields.expected, kinds), default=0.0)

    def enough(self) -> bool:
        """Whether the wanted share is found, by the last estimate."""
        pages = self._selection.pages
        if self._rules.until >= 1.0 or pages < self._next_look:
            return False
        self._next_look = int(pages * _LOOK_EVERY_SHARE) + _LOOK_EVERY_PAGES
        return (self.share_found() or 0.0) >= self._rules.until
