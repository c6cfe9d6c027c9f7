"""The paper's simulation: FIXED, IIR and ICR push tasks to volunteers' machines, Headgate's pull
lets them ask. All meet the same channels and the same churn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headgate.features.keep.recrawl.priority_groups import Icr, Iir, by_sums
from headgate.model.keeping import Staleness
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.sarss2010.printed import CASES, MINUTES
from headgate_lab.worlds.pulled_tasks import PulledTasks
from headgate_lab.worlds.pushed_tasks import PushedTasks, Strategy
from headgate_lab.worlds.volunteer_figures import Figures
from headgate_lab.worlds.volunteers import FIRST_INTERVALS, volunteers

__all__ = [
    "DELTAS",
    "FULL",
    "IIR_BY_SUMS",
    "PULL_AGE",
    "PULL_FRESH",
    "RATCHETS",
    "STRATEGIES",
    "TENTH",
    "Extent",
    "Run",
    "Simulation",
    "seeds_of",
    "simulate",
    "simulated",
]

PULL_FRESH, PULL_AGE = "pull, freshness per cost", "pull, age per cost"
STRATEGIES = ("FIXED", "IIR", "ICR", PULL_FRESH, PULL_AGE)
IIR_BY_SUMS = "IIR by sums"
RATCHETS = ("ICR", "IIR", IIR_BY_SUMS)
DELTAS = (0.2, 0.3, 0.4, 0.5)
_DELTA = 0.5


@dataclass(frozen=True, slots=True)
class Extent:
    scale: int
    """10: a tenth of channels and crawlers."""
    minutes: int


FULL, TENTH = Extent(1, MINUTES), Extent(10, MINUTES // 10)


@dataclass(frozen=True, slots=True)
class Run:
    case: str
    strategy: str
    seed: int
    delta: float = _DELTA
    """Of IIR and ICR."""


@dataclass(frozen=True, slots=True)
class Simulation:
    extent: Extent
    runs: dict[Run, Figures]

    def of(self, case: str, strategy: str, seed: int) -> Figures:
        return self.runs[Run(case, strategy, seed)]


def simulated(
    extent: Extent, seed: int, seeds: int, mapper: Mapper, say: Callable[[str], object]
) -> Simulation:
    """Everything for ``seed``; FIXED and the pulls for ``seeds`` in all, from there on."""
    first = [Run(case, name, seed) for case in CASES for name in STRATEGIES]
    first += [
        run for name in RATCHETS for d in DELTAS if (run := Run("REC", name, seed, d)) not in first
    ]
    others = [
        Run(case, name, number)
        for number in range(seed + 1, seed + seeds)
        for case in CASES
        for name in ("FIXED", PULL_FRESH, PULL_AGE)
    ]
    runs = [*first, *others]
    say(f"{16_000 // extent.scale:,} channels, {extent.minutes:,} minutes, {len(runs)} runs")
    tasks = [(extent, run) for run in runs]
    return Simulation(extent, dict(zip(runs, mapper(_of_task, tasks), strict=True)))


def simulate(extent: Extent, run: Run) -> Figures:
    world = volunteers(CASES[run.case] // extent.scale, extent.minutes, run.seed, extent.scale)
    if run.strategy == PULL_FRESH:
        return PulledTasks(world, extent.minutes, run.seed, Staleness.FRESHNESS).run()
    if run.strategy == PULL_AGE:
        return PulledTasks(world, extent.minutes, run.seed, Staleness.AGE).run()
    return PushedTasks(world, extent.minutes, run.seed, _strategy(run)).run()


def _strategy(run: Run) -> Strategy | None:
    if run.strategy == "IIR":
        return Iir(run.delta)
    if run.strategy == IIR_BY_SUMS:
        return Iir(run.delta, observed=by_sums)
    return Icr(FIRST_INTERVALS, run.delta) if run.strategy == "ICR" else None


def _of_task(task: tuple[Extent, Run]) -> Figures:
    return simulate(*task)


def seeds_of(simulation: Simulation) -> Iterable[int]:
    return dict.fromkeys(run.seed for run in simulation.runs)
