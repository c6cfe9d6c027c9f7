"""Sites that change by themselves, for ``headgate demo --keep``, and the truth about them.

Each page changes at moments that its seed gives (a Poisson process): some every few seconds, more
once a minute, most hardly ever. Two of the four servers can say that a page is as it was, two
cannot. Every look at a page is written down, so that it is known, and not estimated, how fresh the
copies are that a keeper has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.lab.worlds.demo_answers import Answer, Asked, document, missing
from headgate.lab.worlds.demo_sites import DemoSite

__all__ = ["ChangingPages", "Score", "changing_sites"]

_SITES = (("harbour", True), ("orchard", False), ("mill", True), ("ferry", False))
_KINDS = ((0.12, 6.0), (0.28, 60.0), (0.60, 1_200.0))
"""Shares of the pages, and after how many seconds they change on average."""
_PAGES = 24
"""Of each site."""
_SIZES = (4_000, 16_000)
_HORIZON = 900.0
"""Seconds for which changes are drawn."""


@dataclass(frozen=True, slots=True)
class Score:
    """How fresh the copies were, by the truth."""

    times: tuple[float, ...]
    fresh: tuple[float, ...]
    """At each time: the share of pages whose copy is what the server has."""
    ages: tuple[float, ...]
    """And the mean seconds since the first change that is not in the copy."""

    @property
    def freshness(self) -> float:
        return sum(self.fresh) / len(self.fresh)

    @property
    def age(self) -> float:
        return sum(self.ages) / len(self.ages)


@dataclass(slots=True)
class ChangingPages:
    """All pages of the web; ``now`` gives seconds since it was started."""

    seed: int
    now: Callable[[], float]
    changes: dict[str, tuple[float, ...]] = field(init=False)
    """When each page changes, by its path."""
    sizes: dict[str, int] = field(init=False)
    looks: dict[str, list[float]] = field(init=False)
    """When each page was asked for."""

    def __post_init__(self) -> None:
        chance = np.random.default_rng(self.seed)
        paths = [f"/{site}-{page:02d}.html" for site, _ in _SITES for page in range(_PAGES)]
        shares = np.array([share for share, _ in _KINDS])
        kinds = chance.choice(len(_KINDS), size=len(paths), p=shares / shares.sum())
        self.sizes = {path: int(chance.integers(*_SIZES)) for path in paths}
        self.changes = {
            path: _drawn(chance, _KINDS[kind][1]) for path, kind in zip(paths, kinds, strict=True)
        }
        self.looks = {path: [] for path in paths}

    def answer(self, site: str, asked: Asked) -> Answer:
        own = [path for path in self.changes if path.startswith(f"/{site}-")]
        if asked.path == "/":
            return document(f"The {site}", [(path, path[1:-5]) for path in own], size=300)
        if asked.path not in own:
            return missing()
        now = self.now()
        self.looks[asked.path].append(now)
        version = bisect_right(self.changes[asked.path], now)
        title = f"{asked.path[1:-5]}, {version} times written anew"
        size = self.sizes[asked.path]
        return document(title, [("/", site)], size=size, key=(self.seed, asked.path, version))

    def score(self, times: Sequence[float]) -> Score:
        """Of the copies, at moments that are over. What was never fetched is not fresh."""
        fresh, ages = [], []
        for time in times:
            ages_now = [self._age(path, time) for path in self.changes]
            fresh.append(sum(age == 0.0 for age in ages_now) / len(ages_now))
            ages.append(sum(ages_now) / len(ages_now))
        return Score(tuple(times), tuple(fresh), tuple(ages))

    def _age(self, path: str, time: float) -> float:
        looks = self.looks[path]
        place = bisect_right(looks, time)
        if not place:
            return time
        changes = self.changes[path]
        since = bisect_right(changes, looks[place - 1])
        missed = since < len(changes) and changes[since] <= time
        return time - changes[since] if missed else 0.0


def changing_sites(pages: ChangingPages) -> list[DemoSite]:
    """Four, of 24 pages each."""

    def answering(site: str) -> Callable[[Asked], Answer]:
        return lambda asked: pages.answer(site, asked)

    return [
        DemoSite(
            site,
            "says what is as it was" if validators else "sends everything each time",
            answering(site),
            _PAGES * sum(_SIZES) // 2,
            validators=validators,
        )
        for site, validators in _SITES
    ]


def _drawn(chance: np.random.Generator, mean: float) -> tuple[float, ...]:
    gaps = chance.exponential(mean, size=int(3 * _HORIZON / mean) + 10)
    return tuple(float(moment) for moment in np.cumsum(gaps) if moment < _HORIZON)
