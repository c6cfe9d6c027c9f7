"""GA and DE: evolutionary searches over rate shares, the papers' stand-ins for general search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.model.budget import Objective
from headgate.scheduling.allocation import breakpoint_sweep, is_sufficient, required_rates
from headgate.scheduling.arrays import FloatArray, IntArray

__all__ = ["differential_evolution", "genetic"]

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
    """GA: a genetic algorithm over rate shares, the paper's stand-in for general-purpose search.

    Zhu et al. 2020 compare with Shams et al. 2017 and print no parameters; ours: population 50, 100
    generations, tournaments of two, blend crossover with probability 0.9 (each child's weight
    uniform between its parents'), Gaussian mutation with probability 0.1 per weight and sigma 0.2,
    the best genome kept. Genome and cost: ``genome``.

    Rates per site: the best genome of the last generation.

    >>> work, none = np.array([100.0, 300.0]), np.full(2, np.inf)
    >>> rates = genetic(work, none, 40.0, None, Objective.MAKESPAN, np.random.default_rng(1))
    >>> bool(9.999 < (work / rates).max() < 10.1)  # all together at 10 s is best
    True
    """
    space = GenomeSpace.from_arrays(work, deadlines, budget, caps, objective)
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


POPULATION = 50
GENERATIONS = 100
_LEAST_WEIGHT = 1e-9
"""A site with weight 0 would never end."""


@dataclass(frozen=True, slots=True, eq=False)
class GenomeSpace:
    """The encoding of an allocation for the evolutionary baselines: weights, rates, cost.

        v = lo + (U - sum lo) w / sum w,   w in [0, 1]^n;   lo_i = D_i / t*_i, or 0 when U is too
        narrow

    so that every genome is an allocation that uses the line, and meets all deadlines if it is wide
    enough. The cost is what Zhu et al. 2020 minimise: max t_i or sum t_i when it is, total lateness
    when it is not (there a site without deadline counts from time 0, as in M-STET, lest it starve).
    The paper names neither coding nor parameters; these are ours. With caps, the sweep takes the
    place of w / sum w.

    One instance of the allocation problem as a search space; populations have a row each.
    """

    work: FloatArray
    deadlines: FloatArray
    budget: float
    caps: FloatArray
    objective: Objective
    sufficient: bool
    floors: FloatArray

    @classmethod
    def from_arrays(
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
        return cls(
            work,
            deadlines,
            budget=budget,
            caps=caps_,
            objective=objective,
            sufficient=enough,
            floors=floors,
        )

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


DIFFERENTIAL_WEIGHT = 0.5
DE_CROSSOVER_PROBABILITY = 0.9


def differential_evolution(
    work: FloatArray,
    deadlines: FloatArray,
    budget: float,
    caps: FloatArray | None,
    objective: Objective,
    rng: np.random.Generator,
) -> FloatArray:
    """DE: differential evolution over rate shares, DE/rand/1/bin of Storn and Price (1997).

    Zhu et al. 2020 compare with Afzal et al. 2019 and print no parameters; ours: F = 0.5, CR = 0.9,
    population 50, 100 generations, each made wholly of the one before. No gradient polish at the
    end: it would turn the baseline into a convex solver. Genome and cost: ``genome``.

    Rates per site: the best genome found.

    >>> work, none = np.array([100.0, 300.0]), np.full(2, np.inf)
    >>> chance = np.random.default_rng(1)
    >>> rates = differential_evolution(work, none, 40.0, None, Objective.MAKESPAN, chance)
    >>> bool(9.999 < (work / rates).max() < 10.001)
    True
    """
    space = GenomeSpace.from_arrays(work, deadlines, budget, caps, objective)
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
    taken = rng.random(population.shape) < DE_CROSSOVER_PROBABILITY
    certain = rng.integers(population.shape[1], size=len(population))
    taken[np.arange(len(population)), certain] = True
    return np.where(taken, mutants, population)
