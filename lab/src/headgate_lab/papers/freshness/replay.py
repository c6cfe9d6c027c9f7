"""A policy against real changes, at a budget of bytes, in steps of six hours.

All copies are fresh on the first day. Each step adds its bytes to the credit; while there is some,
the policy chooses the next visit and gets the results of its looks. Freshness is the share of pages
like their copies at the end of a step, age how long the others have been different; both are means
over the last two thirds of the time, when a policy has had time to learn.

Bytes of a visit: 6,000 for its connection, 600 for each request, and three times the text and 2,000
for each page sent: those that changed, and the half of the pages whose servers have no validators.
A budget of D days is that of one look at every page each D days if none changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray
from headgate.features.keep.recrawl.kept_site import LookCosts
from headgate_lab.papers.freshness.changes import DAYS, WatchedPage

__all__ = ["COSTS", "Outcome", "PageLook", "Policy", "Web", "replay"]

STEP_DAYS = 0.25
COSTS = LookCosts()


@dataclass(frozen=True, slots=True)
class PageLook:
    page: int
    time: float
    """Days."""
    changed: bool
    size: float


class Policy(Protocol):
    """A policy; pages are identified by number."""

    def next_pages(self, now: float) -> Sequence[int]:
        """Of one site, for the next visit; empty: none for now."""
        ...

    def looked(self, looks: Sequence[PageLook]) -> None:
        """What the visit found."""
        ...


@dataclass(frozen=True, slots=True)
class Web:
    """The pages, with what the replay assumes of them."""

    pages: Sequence[WatchedPage]
    sites: npt.NDArray[np.int_]
    importances: FloatArray
    validators: BoolArray

    @classmethod
    def of(cls, pages: Sequence[WatchedPage], seed: int, *, alike: bool) -> Web:
        """Half of the pages have validators; importances are equal, or Pareto with mean 1."""
        rng = np.random.default_rng(seed)
        validators = rng.random(len(pages)) < 0.5
        importances = np.ones(len(pages)) if alike else rng.pareto(1.5, len(pages)) + 0.2
        names = sorted({page.site for page in pages})
        sites = np.array([names.index(page.site) for page in pages])
        return cls(pages, sites, importances / importances.mean(), validators)

    @property
    def sizes(self) -> FloatArray:
        """Bytes of each page when it is sent."""
        return np.array([3 * page.text_bytes + 2_000 for page in self.pages])

    def daily_bytes(self, days: float) -> float:
        """Of one look at every page each so many days, if none changed."""
        sent = np.where(self.validators, 0.0, self.sizes)
        return float((sent + COSTS.connection + COSTS.request).sum()) / days


@dataclass(frozen=True, slots=True)
class Outcome:
    """Means over pages and time; ages in days."""

    freshness: float
    age: float
    weighted_freshness: float
    weighted_age: float
    looks: int
    used: float
    """Of the budget."""


def replay(web: Web, policy: Policy, budget_days: float) -> Outcome:
    """For a budget of so many days."""
    play = _Play(web, policy)
    credit = spent = 0.0
    per_step = web.daily_bytes(budget_days) * STEP_DAYS
    steps = int(DAYS / STEP_DAYS)
    for step in range(1, steps + 1):
        now = step * STEP_DAYS
        credit += per_step
        while credit > 0:
            cost = play.visit(now)
            if not cost:
                credit = min(credit, per_step * 4)  # a day's worth is saved up at the most
                break
            credit -= cost
            spent += cost
        if step > steps / 3:
            play.note(now)
    return play.outcome(spent / (per_step * steps))


class _Play:
    def __init__(self, web: Web, policy: Policy) -> None:
        self._web, self._policy = web, policy
        self._sizes = web.sizes
        self._missed = np.array([_nth(page, 0) for page in web.pages])
        """Time of the first change that is not in the copy."""
        self._notes: list[tuple[float, float, float, float]] = []
        self._looks = 0

    def visit(self, now: float) -> float:
        """Bytes of the visit; 0: the policy wants none."""
        pages = self._policy.next_pages(now)
        if not len(pages):
            return 0.0
        looks = [self._look(int(page), now) for page in pages]
        self._looks += len(looks)
        self._policy.looked(looks)
        sent = [look.size for look in looks if look.changed or not self._web.validators[look.page]]
        return COSTS.connection + COSTS.request * len(looks) + sum(sent)

    def _look(self, number: int, now: float) -> PageLook:
        page = self._web.pages[number]
        changed = bool(self._missed[number] <= now)
        if changed:
            seen = int(np.searchsorted(page.changes, now, side="right"))
            self._missed[number] = _nth(page, seen)
        return PageLook(number, now, changed, float(self._sizes[number]))

    def note(self, now: float) -> None:
        fresh = self._missed > now
        age = np.where(fresh, 0.0, now - self._missed)
        weights = self._web.importances
        self._notes.append((
            float(fresh.mean()), float(age.mean()),
            float((weights * fresh).mean()), float((weights * age).mean()),
        ))  # fmt: skip

    def outcome(self, used: float) -> Outcome:
        fresh, age, weighted_fresh, weighted_age = np.mean(self._notes, axis=0).tolist()
        return Outcome(
            fresh,
            age,
            weighted_freshness=weighted_fresh,
            weighted_age=weighted_age,
            looks=self._looks,
            used=float(used),
        )


def _nth(page: WatchedPage, number: int) -> float:
    return float(page.changes[number]) if number < len(page.changes) else np.inf
