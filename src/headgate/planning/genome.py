"""The encoding of an allocation for the evolutionary baselines: weights, rates, cost.

    v = lo + (U - sum lo) w / sum w,   w in [0, 1]^n;   lo_i = D_i / t*_i, or 0 when U is too narrow

so that every genome is an allocation that uses the line, and meets all deadlines if it is wide
enough. The cost is what Zhu et al. 2020 minimise: max t_i or sum t_i when it is, total lateness
when it is not (there a site without deadline counts from time 0, as in M-STET, lest it starve).
The paper names neither coding nor parameters; these are ours. With caps, the sweep takes the
place of w / sum w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.model.budget import Objective
from headgate.planning.arrays import FloatArray
from headgate.planning.sufficiency import is_sufficient, required_rates
from headgate.planning.sweep import breakpoint_sweep

__all__ = ["GENERATIONS", "POPULATION", "GenomeSpace"]

POPULATION = 50
GENERATIONS = 100
_LEAST_WEIGHT = 1e-9
"""A site with weight 0 would never end."""


@dataclass(frozen=True, slots=True, eq=False)
class GenomeSpace:
    """One instance of the allocation problem as a search space; populations have a row each."""

    work: FloatArray
    deadlines: FloatArray
    budget: float
    caps: FloatArray
    objective: Objective
    sufficient: bool
    floors: FloatArray

    @classmethod
    def of(
        cls,
        work: FloatArray,
        deadlines: FloatArray,
        budget: float,
        caps: FloatArray | None,
        objective: Objective,
    ) -> GenomeSpace:
        caps_ = np.full(len(work), np.inf) if caps is None else caps
        enough = is_sufficient(work, deadlines, budget, caps)
        floors = required_rates(work, deadlines) if enough else np.zeros(len(work))
        return cls(work, deadlines, budget, caps_, objective, enough, floors)

    def rates(self, population: FloatArray) -> FloatArray:
        """The rate of each site, by genome."""
        weights = np.maximum(population, _LEAST_WEIGHT)
        spare = max(self.budget - float(self.floors.sum()), 0.0)
        room = np.maximum(self.caps - self.floors, 0.0)
        if (room >= spare).all():
            rates: FloatArray = self.floors + spare * weights / weights.sum(axis=1, keepdims=True)
            return rates
        nothing = np.zeros_like(room)
        return self.floors + np.stack(
            [breakpoint_sweep(row, nothing, room, spare) for row in weights]
        )

    def cost(self, population: FloatArray) -> FloatArray:
        """One number per genome, to be minimised."""
        times = self.work / self.rates(population)
        if not self.sufficient:
            has_deadline = np.isfinite(self.deadlines) & (self.deadlines > 0)
            counted_from = np.where(has_deadline, self.deadlines, 0.0)
            late: FloatArray = np.maximum(times - counted_from, 0.0).sum(axis=1)
            return late
        if self.objective is Objective.MAKESPAN:
            last: FloatArray = times.max(axis=1)
            return last
        total: FloatArray = times.sum(axis=1)
        return total
