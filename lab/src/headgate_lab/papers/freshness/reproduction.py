"""Policies beside each other on the held-out half of the pages, at equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.freshness.changes import WatchedPage, halves, watched_pages
from headgate_lab.papers.freshness.claims import Cell, estimation_claims, replay_claims
from headgate_lab.papers.freshness.estimation import Estimation, estimate
from headgate_lab.papers.freshness.replay import Outcome, Web, replay
from headgate_lab.papers.freshness.rivals import POLICIES
from headgate_lab.papers.mapping import Mapper

__all__ = ["Reproduction", "as_json", "reproduce"]


@dataclass(frozen=True, slots=True)
class Reproduction:
    pages: int
    outcomes: dict[Cell, dict[str, Outcome]]
    estimations: Sequence[Estimation]
    claims: Sequence[Claim]


def reproduce(
    webs: int, seed: int, mapper: Mapper, say: Callable[[str], object], every: int = 1
) -> Reproduction:
    """``webs`` of Pareto importance, seeds from ``seed`` on, and one of equal importance. With
    ``every``, only every so-manieth page, and no small budget."""
    cells = [Cell(seed, True, days) for days in (120.0, 30.0, 10.0) if every == 1 or days > 10]
    cells += [Cell(seed + n, False, days) for n in range(webs) for days in (120.0, 30.0)]
    tasks = [(cell, policy, every) for cell in cells for policy in POLICIES]
    outcomes: dict[Cell, dict[str, Outcome]] = {cell: {} for cell in cells}
    pages = _held_out()[::every]
    say(f"{len(pages)} pages, {len(cells)} budgets, {len(POLICIES)} policies")
    for (cell, policy, _), outcome in zip(tasks, mapper(_played, tasks), strict=True):
        outcomes[cell][policy] = outcome
    say("how well rates are known")
    estimations = [estimate(pages, seed + n) for n in range(max(webs, 1))]
    found = [*replay_claims(outcomes), *estimation_claims(estimations)]
    return Reproduction(len(pages), outcomes, estimations, found)


@cache
def _held_out() -> list[WatchedPage]:
    return halves(watched_pages())[1]


def _played(task: tuple[Cell, str, int]) -> Outcome:
    cell, policy, every = task
    web = Web.of(_held_out()[::every], cell.seed, alike=cell.alike)
    return replay(web, POLICIES[policy](web), cell.budget_days)


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    return {
        "paper": "freshness",
        "pages": reproduction.pages,
        "cells": [
            {**asdict(cell), "policies": {name: asdict(found) for name, found in by_name.items()}}
            for cell, by_name in reproduction.outcomes.items()
        ],
        "estimations": [asdict(found) for found in reproduction.estimations],
        "claims": [asdict(claim) for claim in reproduction.claims],
    }
