"""A crawl on a made-up line: sites of so many pages behind servers of so many bytes per second.

It plays the part of nodes and clock for a `Manager`: every site takes what it is granted as far as
its server gives it and the budget holds, begins with a moment in which nothing comes, finds pages
as it goes, and ends when its pages are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headgate.control.manager import LOOK_SECONDS, Command, DropSite, Manager, StartTask
from headgate.crawling.ports import StopSite
from headgate.crawling.progress import Growth, Progress

__all__ = ["MadeUpSite", "crawl", "of_bytes"]

_STEP = 0.05
_LOOK_STEPS = round(LOOK_SECONDS / _STEP)
_PAGE = 12_000.0


@dataclass(slots=True)
class MadeUpSite:
    """Pages in the order in which they are fetched."""

    pages: Sequence[float]
    """Bytes of each."""
    speed: float | Callable[[float], float]
    """Bytes per second that its server gives at the most; may change with the seconds since the
    site was begun."""
    silence: float = 0.0
    """Seconds from the start of the site until its first byte."""
    known: Sequence[int] = ()
    """Pages known once so many are there; none given: all from the first on."""
    delay: float = 0.0
    """Its Crawl-delay: from the start of one page to the start of the next."""
    came: float = 0.0
    started: float | None = None
    fetched: int = 0
    under_way: float = 0.0
    """Bytes of the page under way that have come."""
    next_start: float = 0.0
    growth: Growth = field(default_factory=Growth)
    depths: list[int] = field(default_factory=lambda: [0])
    """Of the pages known."""

    def __post_init__(self) -> None:
        self.growth.found(0, 1)

    @property
    def bytes(self) -> float:
        return sum(self.pages)

    @property
    def ended(self) -> bool:
        return self.fetched == len(self.pages)

    def report(self, name: str, now: float) -> Progress:
        whole = self.came - self.under_way
        announced = self.pages[self.fetched] - self.under_way if self.under_way else 0.0
        return Progress(
            name,
            started=self.started,
            wire_bytes=int(whole),
            under_way_bytes=int(self.under_way),
            pages=self.fetched,
            fetches=self.fetched,
            to_do=len(self.depths) - self.fetched,
            seen=len(self.depths),
            announced_bytes=int(announced),
            announced_fetches=1 if announced else 0,
            growth=self.growth,
            pausing=self.under_way == 0 and now < self.next_start,
        )

    def wants(self, now: float) -> float:
        """Bytes per second that could come now."""
        assert self.started is not None
        if now < self.started + self.silence or (self.under_way == 0 and now < self.next_start):
            return 0.0
        return self.speed(now - self.started) if callable(self.speed) else self.speed

    def take(self, bytes_: float, now: float) -> None:
        while bytes_ > 0 and not self.ended:
            if self.under_way == 0:
                if now < self.next_start:
                    return
                self.next_start = now + self.delay
            part = min(bytes_, self.pages[self.fetched] - self.under_way)
            self.came += part
            self.under_way += part
            bytes_ -= part
            if self.under_way >= self.pages[self.fetched] - 1e-6:
                self._settle()

    def _settle(self) -> None:
        depth = self.depths[self.fetched]
        self.growth.came(depth, int(self.pages[self.fetched]))
        self.fetched += 1
        self.under_way = 0.0
        known = self.known[self.fetched] if self.known else len(self.pages)
        brought = known - len(self.depths)
        self.depths += [depth + 1] * brought
        self.growth.found(depth + 1, brought)
        self.growth.settle(depth, brought)


def of_bytes(bytes_: float, speed: float, silence: float = 0.0) -> MadeUpSite:
    """A site of equal pages, all known from the first."""
    count = max(round(bytes_ / _PAGE), 1)
    return MadeUpSite([bytes_ / count] * count, speed, silence)


@dataclass(slots=True)
class _Line:
    manager: Manager
    sites: dict[str, MadeUpSite]
    ends: dict[str, float] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)

    def step(self, now: float) -> None:
        rates = self.manager.rates
        wanted = {
            name: min(rate, self.sites[name].wants(now))
            for name, rate in rates.items()
            if self.sites[name].started is not None
        }
        capacity = self.manager.budget.capacity
        whole = sum(wanted.values())
        budget = whole if capacity is None else capacity.rate_at(now)
        scale = min(1.0, budget / whole) if whole else 1.0
        for name, rate in wanted.items():
            self.sites[name].take(rate * scale * _STEP, now)
        for name in [name for name in rates if self.sites[name].ended]:
            self.end(name, now + _STEP)

    def end(self, name: str, now: float) -> None:
        self.ends[name] = now
        self.perform(self.manager.ended(name, now), now)

    def observe(self, now: float) -> None:
        reports = [
            site.report(name, now)
            for name, site in self.sites.items()
            if site.started is not None and name not in self.ends
        ]
        self.manager.observe(reports, now)
        self.perform(self.manager.decide(now), now)

    def perform(self, commands: list[Command], now: float) -> None:
        for command in commands:
            if isinstance(command, StartTask):
                self.sites[command.task.name].started = now
            elif isinstance(command, StopSite):
                self.end(command.site, now)
            elif isinstance(command, DropSite):
                self.dropped.add(command.site)


def crawl(
    manager: Manager,
    sites: dict[str, MadeUpSite],
    most: float = 3600.0,
    check: Callable[[Manager, float], None] = lambda _manager, _now: None,
) -> dict[str, float]:
    """Crawl to the end; when each site ended. Sites that were never begun are left out.

    ``check`` is called at every step."""
    line = _Line(manager, sites)
    line.perform(manager.begin(0.0), 0.0)
    turn, steps = manager.next_turn(0.0), 0
    while not manager.done and steps * _STEP < most:
        now = steps * _STEP
        if now >= turn:
            line.perform(manager.decide(now), now)
            turn = manager.next_turn(now)
        if steps % _LOOK_STEPS == 0:
            line.observe(now)
        check(manager, now)
        line.step(now)
        steps += 1
    return line.ends
