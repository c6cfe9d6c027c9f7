"""Policies beside each other on the held-out half of the pages, at equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from headgate.lab.papers.claim import Claim
from headgate.lab.papers.freshness.changes import WatchedPage, halves, watched_pages
from headgate.lab.papers.freshness.replay import Outcome, Web, replay
from headgate.lab.papers.freshness.rivals import HEADGATE, POLICIES, UNIFORM
from headgate.lab.papers.mapping import Mapper

__all__ = ["Cell", "Reproduction", "as_json", "reproduce"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is played: a web by seed, a budget."""

    seed: int
    alike: bool
    """Whether all pages are equally important; otherwise importances are Pareto."""
    budget_days: float

    @property
    def name(self) -> str:
        kind = "equal importance" if self.alike else "Pareto importance"
        return f"{self.budget_days:g} days, {kind}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    pages: int
    outcomes: dict[Cell, dict[str, Outcome]]
    claims: Sequence[Claim]


def reproduce(webs: int, seed: int, mapper: Mapper, say: Callable[[str], None]) -> Reproduction:
    """``webs`` of Pareto importance, seeds from ``seed`` on, and one of equal importance."""
    cells = [Cell(seed, True, days) for days in (120.0, 30.0, 10.0)]
    cells += [Cell(seed + n, False, days) for n in range(webs) for days in (120.0, 30.0)]
    tasks = [(cell, policy) for cell in cells for policy in POLICIES]
    outcomes: dict[Cell, dict[str, Outcome]] = {cell: {} for cell in cells}
    for (cell, policy), outcome in zip(tasks, mapper(_played, tasks), strict=True):
        if not outcomes[cell]:
            say(f"freshness: {cell.name}")
        outcomes[cell][policy] = outcome
    return Reproduction(len(_held_out()), outcomes, [*_claims(outcomes)])


@cache
def _held_out() -> list[WatchedPage]:
    return halves(watched_pages())[1]


def _played(task: tuple[Cell, str]) -> Outcome:
    cell, policy = task
    web = Web.of(_held_out(), cell.seed, alike=cell.alike)
    return replay(web, POLICIES[policy](web), cell.budget_days)


def _claims(outcomes: dict[Cell, dict[str, Outcome]]) -> Sequence[Claim]:
    pairs = {cell: (found[HEADGATE], found[UNIFORM]) for cell, found in outcomes.items()}
    stale = [
        (1 - ours.weighted_freshness) / (1 - uniform.weighted_freshness)
        for ours, uniform in pairs.values()
    ]
    aged = [ours.weighted_age / uniform.weighted_age for ours, uniform in pairs.values()]
    rivals = [
        (cell, name, found[name], found[UNIFORM])
        for cell, found in outcomes.items()
        for name in found
        if name not in (HEADGATE, UNIFORM, "freshness index")
    ]
    better = [row for row in rivals if row[2].weighted_age < row[3].weighted_age]
    spent = [found.used for by_name in outcomes.values() for found in by_name.values()]
    return [
        Claim(
            "headgate",
            "less stale than uniform looks for the same bytes, by importance",
            max(stale) < 1,
            f"{min(stale):.2f} to {max(stale):.2f} of uniform's staleness",
        ),
        Claim(
            "headgate",
            "copies are out of date for a shorter time than with uniform looks, by importance",
            max(aged) < 1,
            f"{min(aged):.2f} to {max(aged):.2f} of uniform's age",
        ),
        Claim(
            "SARSS, Nutch",
            "following the changes with intervals beats uniform looks",
            len(better) == len(rivals),
            f"a lower age in {len(better)} of {len(rivals)} cases",
        ),
        Claim(
            "replay",
            "nobody takes more bytes than the budget has",
            max(spent) < 1.01,
            f"{min(spent):.2f} to {max(spent):.2f} of it used",
        ),
    ]


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    return {
        "pages": reproduction.pages,
        "cells": [
            {**asdict(cell), "policies": {name: asdict(found) for name, found in by_name.items()}}
            for cell, by_name in reproduction.outcomes.items()
        ],
        "claims": [asdict(claim) for claim in reproduction.claims],
    }
