"""DE: differential evolution over rate shares, DE/rand/1/bin of Storn and Price (1997).

Zhu et al. 2020 compare with Afzal et al. 2019 and print no parameters; ours: F = 0.5, CR = 0.9,
population 50, 100 generations, each made wholly of the one before. No gradient polish at the end:
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
    space = GenomeSpace.of(work, deadlines, budget, caps, objective)
    population = rng.random((POPULATION, len(work)))
    cost = space.cost(population)
    for _ in range(GENERATIONS):
        trials = _crossed(population, _mutants(population, rng), rng)
        trial_cost = space.cost(trials)
        better = trial_cost <= cost
        population[better], cost[better] = trials[better], trial_cost[better]
    best: FloatArray = space.rates(population[np.argmin(cost)][np.newaxis])[0]
    return best


def _mutants(population: FloatArray, rng: np.random.Generator) -> FloatArray:
    """a + F (b - c) for each genome, of three others; a weight that left [0, 1] is drawn anew."""
    order = rng.permuted(np.tile(np.arange(len(population) - 1), (len(population), 1)), axis=1)
    order += order >= np.arange(len(population))[:, np.newaxis]  # never the genome itself
    first, second, third = (population[order[:, place]] for place in range(3))
    mutants: FloatArray = first + DIFFERENTIAL_WEIGHT * (second - third)
    outside = (mutants < 0) | (mutants > 1)
    return np.where(outside, rng.random(mutants.shape), mutants)


def _crossed(population: FloatArray, mutants: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Each weight the mutant's with probability CR, and one of them for certain."""
    taken = rng.random(population.shape) < CROSSOVER_PROBABILITY
    certain = rng.integers(population.shape[1], size=len(population))
    taken[np.arange(len(population)), certain] = True
    return np.where(taken, mutants, population)
