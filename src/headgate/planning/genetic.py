"""GA: a genetic algorithm over rate shares, the paper's stand-in for general-purpose search.

Zhu et al. 2020 compare with Shams et al. 2017 and print no parameters; ours: population 50, 100
generations, tournaments of two, blend crossover with probability 0.9 (each child's weight uniform
between its parents'), Gaussian mutation with probability 0.1 per weight and sigma 0.2, the best
genome kept. Genome and cost: ``genome``.
"""

from __future__ import annotations

import numpy as np

from headgate.model.budget import Objective
from headgate.planning.arrays import FloatArray, IntArray
from headgate.planning.genome import GENERATIONS, POPULATION, GenomeSpace

__all__ = ["genetic"]

CROSSOVER_PROBABILITY = 0.9
MUTATION_PROBABILITY = 0.1
MUTATION_SIGMA = 0.2


def genetic(
    work: FloatArray,
    deadlines: FloatArray,
    budget: float,
    caps: FloatArray | None,
    objective: Objective,
    rng: np.random.Generator,
) -> FloatArray:
    """Rates per site: the best genome of the last generation.

    >>> work, none = np.array([100.0, 300.0]), np.full(2, np.inf)
    >>> rates = genetic(work, none, 40.0, None, Objective.MAKESPAN, np.random.default_rng(1))
    >>> bool(9.999 < (work / rates).max() < 10.1)  # all together at 10 s is best
    True
    """
    space = GenomeSpace.of(work, deadlines, budget, caps, objective)
    population = rng.random((POPULATION, len(work)))
    cost = space.cost(population)
    for _ in range(GENERATIONS):
        elite = population[np.argmin(cost)]
        mothers = population[_tournament(cost, rng)]
        fathers = population[_tournament(cost, rng)]
        population = _mutated(_blended(mothers, fathers, rng), rng)
        population[0] = elite
        cost = space.cost(population)
    best: FloatArray = space.rates(population[np.argmin(cost)][np.newaxis])[0]
    return best


def _tournament(cost: FloatArray, rng: np.random.Generator) -> IntArray:
    first, second = rng.integers(len(cost), size=(2, len(cost)))
    winners: IntArray = np.where(cost[first] <= cost[second], first, second)
    return winners


def _blended(mothers: FloatArray, fathers: FloatArray, rng: np.random.Generator) -> FloatArray:
    crossed = rng.random((len(mothers), 1)) < CROSSOVER_PROBABILITY
    toward_father = rng.random(mothers.shape)
    return np.where(crossed, mothers + toward_father * (fathers - mothers), mothers)


def _mutated(population: FloatArray, rng: np.random.Generator) -> FloatArray:
    struck = rng.random(population.shape) < MUTATION_PROBABILITY
    noise = rng.normal(0.0, MUTATION_SIGMA, population.shape)
    return np.clip(population + np.where(struck, noise, 0.0), 0.0, 1.0)
