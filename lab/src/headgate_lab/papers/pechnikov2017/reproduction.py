"""Table 1 as a model, and all algorithms over many instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.pechnikov2017.claims import aims, claims
from headgate_lab.papers.pechnikov2017.instances import CELLS, Cell, instance
from headgate_lab.papers.pechnikov2017.rivals import RIVALS
from headgate_lab.papers.pechnikov2017.table1 import TableRow, modelled
from headgate_lab.papers.pechnikov2017.verdicts import Ratio, Ratios

__all__ = ["Reproduction", "as_json", "ratios", "reproduce"]

_TOGETHER = 25
"""Instances of one task."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    instances: int
    seed: int
    table: list[TableRow]
    ratios: Ratios
    claims: list[Claim]
    aims: list[Claim]


def reproduce(
    instances: int, seed: int, mapper: Mapper, say: Callable[[str], object] = lambda _: None
) -> Reproduction:
    say(f"{instances} instances of {len(CELLS)} kinds")
    found = ratios(instances, seed, mapper)
    table = modelled(instances, seed)
    return Reproduction(
        instances, seed, table=table, ratios=found, claims=claims(table, found), aims=aims(found)
    )


def ratios(instances: int, seed: int, mapper: Mapper) -> Ratios:
    """Makespan over the clairvoyant bound, of each cell and way."""
    starts = range(0, instances, _TOGETHER)
    tasks = [(cell, seed, k, min(k + _TOGETHER, instances)) for cell in CELLS for k in starts]
    by_cell: dict[Cell, list[list[float]]] = {cell: [] for cell in CELLS}
    for (cell, *_), rows in zip(tasks, mapper(_play, tasks), strict=True):
        by_cell[cell] += rows
    return {
        cell: {
            name: _ratio(column) for name, column in zip(RIVALS, np.transpose(rows), strict=True)
        }
        for cell, rows in by_cell.items()
    }


def _play(task: tuple[Cell, int, int, int]) -> list[list[float]]:
    cell, seed, first, end = task
    found = [instance(cell, seed, number) for number in range(first, end)]
    return [[way(played) / played.bound for way in RIVALS.values()] for played in found]


def _ratio(column: Any) -> Ratio:
    deviation = float(np.std(column) / np.sqrt(len(column)))
    return Ratio(float(np.mean(column)), float(np.max(column)), deviation)


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    """Seconds, and makespans over the bound."""
    return {
        "paper": "pechnikov2017",
        "instances": reproduction.instances,
        "seed": reproduction.seed,
        "table_1": [asdict(row) for row in reproduction.table],
        "ratios": [
            {**asdict(cell), "ways": {name: asdict(ratio) for name, ratio in by_way.items()}}
            for cell, by_way in reproduction.ratios.items()
        ],
        "claims": [asdict(claim) for claim in reproduction.claims],
        "aims": [asdict(aim) for aim in reproduction.aims],
    }
