"""A frontier driven by hand: short names for what tests of events and commands do all the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.events import Command, Event, Fetch, JournalEntry, Record
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.scope import Mine, Scope, all_mine
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_queue import MemorySpill

HOME = "http://a.org/"
TRAPS = TrapRules(this_year=2026)


def rules(
    *,
    slots: int = 6,
    memory: int = 1000,
    robots: bool = False,
    scored: bool = False,
    pace: PolitenessRules | None = None,
) -> FrontierRules:
    """Rules without robots.txt, unless asked for."""
    return FrontierRules(
        TRAPS, DispatchRules(slots, memory, robots, scored, pace or PolitenessRules())
    )


class Driver:
    """Sends events, checks every invariant after each, keeps the journal and the flights."""

    def __init__(
        self,
        scope: Scope | None = None,
        site_rules: FrontierRules | None = None,
        asked_before: Callable[[str], bool] = lambda _: False,
        mine: Mine = all_mine,
    ) -> None:
        self.frontier = Frontier(
            scope or Scope([HOME]), MemorySpill(), site_rules or rules(), asked_before, mine
        )
        self.journal: list[JournalEntry] = []
        self.flights: list[Fetch] = []
        self.now = 0.0

    def send(self, event: Event) -> list[Command]:
        """What the frontier commands, without the records."""
        url = getattr(event, "url", None)
        self.flights = [fetch for fetch in self.flights if fetch.url != url]
        commands = self.frontier.handle(event, self.now)
        self.frontier.check()
        self.journal += [command.entry for command in commands if isinstance(command, Record)]
        self.flights += [command for command in commands if isinstance(command, Fetch)]
        return [command for command in commands if not isinstance(command, Record)]

    @property
    def in_flight(self) -> list[str]:
        return [fetch.url for fetch in self.flights]

    @property
    def last(self) -> JournalEntry:
        return self.journal[-1]


def urls(*paths: str) -> Sequence[str]:
    return [HOME + path for path in paths]
