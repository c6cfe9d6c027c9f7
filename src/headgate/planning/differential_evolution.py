"""DE: differential evolution over rate shares, by SciPy.

Zhu et al. 2020 compare with Afzal et al. 2019 and print no parameters; ours: DE/rand/1/bin with
F = 0.5, CR = 0.9, population 50, 100 generations. SciPy's final gradient polish is off, because
it would turn the baseline into a convex solver. Genome and cost: ``genome``.
"""

from __future__ import annotations

import numpy as np

from headgate.model.budget import Objective
from headgate.planning.arrays import FloatArray
from headgate.planning.genome import GENERATIONS, POPULATION, GenomeSpace

__all__ = ["differential_evolution"]

DIFFERENTIAL_WEIGHT = 0.5
CROSSOVER_PROBABILITY = 0.9


def differential_evolution(
    work: FloatArray,
    deadlines: FloatArray,
    budget: float,
    caps: FloatArray | None,
    objective: Objective,
    rng: np.random.Generator,
) -> FloatArray:
    """Rates per site: the best genome found.

    >>> work, none = np.array([100.0, 300.0]), np.full(2, np.inf)
    >>> chance = np.random.default_rng(1)
    >>> rates = differential_evolution(work, none, 40.0, None, Objective.MAKESPAN, chance)
    >>> bool(9.999 < (work / rates).max() < 10.001)
    True
    """
    from scipy import optimize  # costs 50 MB and half a second: only for those who ask for DE

    space = GenomeSpace.of(work, deadlines, budget, caps, objective)
    found = optimize.differential_evolution(
        lambda genomes: space.cost(genomes.T),  # type: ignore[arg-type, misc] # one per column
        bounds=optimize.Bounds(np.zeros(len(work)), np.ones(len(work))),
        strategy="rand1bin",
        mutation=DIFFERENTIAL_WEIGHT,
        recombination=CROSSOVER_PROBABILITY,
        init=rng.random((POPULATION, len(work))),
        maxiter=GENERATIONS,
        tol=0.0,
        polish=False,
        updating="deferred",
        vectorized=True,
        rng=rng,
    )
    best: FloatArray = space.rates(np.asarray(found.x, dtype=np.float64)[np.newaxis])[0]
    return best
