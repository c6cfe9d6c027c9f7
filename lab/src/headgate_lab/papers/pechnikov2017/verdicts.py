"""What the instances gave, and what others found for the same kind of instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headgate_lab.papers.pechnikov2017.instances import Cell

__all__ = ["REFERENCE", "Ratio", "Ratios"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Makespan over bound."""

    mean: float
    most: float
    standard_error: float


Ratios: TypeAlias = dict[Cell, dict[str, Ratio]]

REFERENCE: dict[tuple[Cell, str], tuple[float, ...]] = {
    (Cell(3, 2.2), "static circular, largest first"): (1.351,),
    (Cell(5, 2.2), "static circular, largest first"): (1.404,),
    (Cell(3, 2.2), "pull, smallest first (RR2)"): (1.192,),
    (Cell(5, 2.2), "pull, smallest first (RR2)"): (1.328,),
    (Cell(3, 2.2), "pull, largest first (RR1)"): (1.025,),
    (Cell(5, 2.2), "pull, largest first (RR1)"): (1.052,),
    (Cell(3, 2.2), "paper, cyclic"): (1.059, 1.061),
    (Cell(5, 2.2), "paper, cyclic"): (1.153, 1.165),
    (Cell(3, 2.2), "paper, share"): (1.006,),
    (Cell(5, 2.2), "paper, share"): (1.085,),
    (Cell(3, 2.2), "paper, earliest"): (1.036,),
    (Cell(5, 2.2), "paper, earliest"): (1.171,),
    (Cell(3, 2.2), "LPT"): (1.0022,),
    (Cell(5, 2.2), "LPT"): (1.0035,),
    (Cell(3, 2.2), "MULTIFIT"): (1.001,),
    (Cell(5, 2.2), "MULTIFIT"): (1.0017,),
    (Cell(3, 2.2, 0.6, 0.3), "paper, cyclic"): (1.464, 1.466),
    (Cell(5, 2.2, 0.6, 0.3), "paper, cyclic"): (1.724, 1.755),
}
"""Obtained independently of this project, some of them twice."""
