"""Sites whose pages change by known laws, and the true freshness of copies of them.

Each page changes at times drawn beforehand: by a Poisson process, regularly, or in bursts with long
pauses. Every request is recorded, so that the freshness of a keeper's copies is known exactly.

The web of ``headgate demo --keep`` has what collections usually have: some pages that change all
the time, more that do now and then, and an archive of large pages that hardly ever change and whose
server cannot say so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from headgate.features.demo.sites import Answer, DemoRequest, DemoSite, document, missing

__all__ = [
    "ChangingPage",
    "ChangingSite",
    "ChangingWeb",
    "Law",
    "Score",
    "demo_changing_sites",
    "drawn_changes",
]

_BURST = 4
"""Changes one soon after the other."""
_BURST_PACE = 0.1
"""Of the mean time between changes, within a burst."""
_DEMO_SECONDS = 900.0
"""For which changes are drawn."""


class Law(StrEnum):
    """When a page changes; the mean time between changes is the same in all."""

    CHANCE = "by chance"
    CLOCK = "by the clock"
    BURSTS = "in bursts"


@dataclass(frozen=True, slots=True)
class ChangingPage:
    path: str
    size: int
    changes: tuple[float, ...]
    """When it changes, in seconds since the start."""


@dataclass(frozen=True, slots=True)
class ChangingSite:
    name: str
    about: str
    pages: tuple[ChangingPage, ...]
    validators: bool
    """Whether its server can say that a page is as it was."""


@dataclass(frozen=True, slots=True)
class Score:
    """True freshness of the copies."""

    times: tuple[float, ...]
    fresh: tuple[float, ...]
    """At each time: the share of pages whose copy is up to date."""
    ages: tuple[float, ...]
    """And the mean seconds since the first change that is not in the copy."""

    @property
    def freshness(self) -> float:
        return sum(self.fresh) / len(self.fresh)

    @property
    def age(self) -> float:
        return sum(self.ages) / len(self.ages)


@dataclass(slots=True)
class ChangingWeb:
    """All pages, each at a path of its own; ``now`` gives seconds since the start."""

    sites: Sequence[ChangingSite]
    now: Callable[[], float]
    looks: dict[str, list[float]] = field(init=False)
    """When each page was requested."""

    def __post_init__(self) -> None:
        self.looks = {page.path: [] for page in self.pages}

    @property
    def pages(self) -> list[ChangingPage]:
        return [page for site in self.sites for page in site.pages]

    def served(self) -> list[DemoSite]:
        """To be given to a `DemoWeb`."""
        return [self._served(site) for site in self.sites]

    def all_fetched(self) -> bool:
        """Whether there is a copy of every page."""
        return all(self.looks.values())

    def score(self, times: Iterable[float]) -> Score:
        """Of the copies, at past times. A page that was never fetched is not fresh."""
        pages, moments, fresh, ages = self.pages, tuple(times), [], []
        for time in moments:
            ages_now = [self._age(page, time) for page in pages]
            fresh.append(sum(age == 0.0 for age in ages_now) / len(ages_now))
            ages.append(sum(ages_now) / len(ages_now))
        return Score(moments, tuple(fresh), tuple(ages))

    def _served(self, site: ChangingSite) -> DemoSite:
        own = {page.path: page for page in site.pages}
        links = [(path, path[1:-5]) for path in own]

        def answer(asked: DemoRequest) -> Answer:
            if asked.path == "/":
                return document(f"The {site.name}", links, size=300)
            return self._answer(own[asked.path]) if asked.path in own else missing()

        total = sum(page.size for page in site.pages)
        return DemoSite(site.name, site.about, answer, total, validators=site.validators)

    def _answer(self, page: ChangingPage) -> Answer:
        now = self.now()
        self.looks[page.path].append(now)
        version = bisect_right(page.changes, now)
        title = f"{page.path[1:-5]}, {version} times written anew"
        return document(title, [("/", "start")], size=page.size, key=(page.path, version))

    def _age(self, page: ChangingPage, time: float) -> float:
        looks = self.looks[page.path]
        place = bisect_right(looks, time)
        if not place:
            return time
        since = bisect_right(page.changes, looks[place - 1])
        missed = since < len(page.changes) and page.changes[since] <= time
        return time - page.changes[since] if missed else 0.0


def drawn_changes(
    chance: np.random.Generator, law: Law, mean: float, seconds: float
) -> tuple[float, ...]:
    """With ``mean`` seconds between them, until ``seconds``."""
    count = int(3 * seconds / mean) + 5 * _BURST
    if law is Law.CHANCE:
        gaps = chance.exponential(mean, count)
    elif law is Law.CLOCK:
        gaps = np.full(count, mean)
        gaps[0] *= chance.random()
    else:
        gaps = np.full(count, _BURST_PACE * mean)
        silence = (_BURST - (_BURST - 1) * _BURST_PACE) * mean
        gaps[::_BURST] = chance.exponential(silence, len(gaps[::_BURST]))
    return tuple(float(moment) for moment in np.cumsum(gaps) if moment < seconds)


def demo_changing_sites(seed: int) -> list[ChangingSite]:
    """Four, with 120 pages."""
    chance = np.random.default_rng(seed)

    def pages(
        name: str, sizes: tuple[int, int], kinds: Sequence[tuple[int, float]]
    ) -> tuple[ChangingPage, ...]:
        """``kinds``: so many pages that change after so many seconds on average."""
        means = [mean for count, mean in kinds for _ in range(count)]
        return tuple(
            ChangingPage(
                f"/{name}-{number:02d}.html",
                int(chance.integers(*sizes)),
                drawn_changes(chance, Law.CHANCE, mean, _DEMO_SECONDS),
            )
            for number, mean in enumerate(means)
        )

    small, large = (3_000, 9_000), (30_000, 50_000)
    says, silent = "says what is as it was", "sends everything each time"
    return [
        ChangingSite("harbour", says, pages("harbour", small, [(8, 8.0), (22, 90.0)]), True),
        ChangingSite("orchard", says, pages("orchard", small, [(6, 30.0), (24, 900.0)]), True),
        ChangingSite("ferry", silent, pages("ferry", small, [(4, 12.0), (26, 600.0)]), False),
        ChangingSite("archive", silent, pages("archive", large, [(30, 1_800.0)]), False),
    ]
