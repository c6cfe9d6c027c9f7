"""What of the paper's simulation is found again, and whether pulls reach what was set before."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.sarss2010.printed import CASES, QUALITY, TASKS
from headgate_lab.papers.sarss2010.simulation import (
    DELTAS,
    PULL_AGE,
    PULL_FRESH,
    RATCHETS,
    Run,
    Simulation,
    seeds_of,
)
from headgate_lab.worlds.volunteer_figures import Figures

__all__ = ["verdicts"]

_NEAR = 0.08
_ROUNDING = 1000.0
_LAW_NEAR = 0.05
_TWICE = (1.6, 2.2)
_ORDER = ("FIXED", "ICR", "IIR")
_LEAST_GAIN = {"REC": 1.85, "RUC": 1.25}
_LEAST_AGE_GAIN, _LEAST_COVERED = 1.5, 0.99
_WHY_ABOVE = (
    "its interval is the mean of those of the channels, which exceeds what all updates together"
    " give; IIR by sums goes by these"
)


def verdicts(simulation: Simulation) -> list[Claim]:
    seed = next(iter(seeds_of(simulation)))
    return [
        *_fixed(simulation, seed),
        *_orders(simulation, seed),
        _twice(simulation, seed),
        _half(simulation, seed),
        *_ratchets(simulation, seed),
        *_pulls(simulation),
    ]


def _fixed(simulation: Simulation, seed: int) -> Iterator[Claim]:
    whole = simulation.extent.scale * 100_000 / simulation.extent.minutes
    off = max(
        abs(whole * ours - paper)
        for case in CASES
        for ours, paper in zip(
            simulation.of(case, "FIXED", seed).submitted, TASKS[case, "FIXED"], strict=True
        )
    )
    yield Claim(
        "Tables 1, 3",
        "FIXED submits as many tasks of each rank, to rounding",
        off <= _ROUNDING * (1 if whole == 1 else 10),
        f"at most {off:,.0f} apart" + ("" if whole == 1 else ", a part taken for the whole"),
    )
    found = simulation.of("REC", "FIXED", seed)
    for what, ours, paper in (
        ("weighted", found.weighted_quality, QUALITY["REC", "FIXED"][0]),
        ("unweighted", found.quality, QUALITY["REC", "FIXED"][1]),
    ):
        yield Claim(
            "Table 2",
            f"FIXED, {what} update quality {paper:g}, within {_NEAR:.0%}",
            abs(ours / paper - 1) <= _NEAR,
            f"{ours:.4f}, {ours / paper - 1:+.1%}",
        )


def _orders(simulation: Simulation, seed: int) -> Iterator[Claim]:
    by_name = {name: simulation.of("REC", name, seed) for name in _ORDER}
    tasks = [sum(by_name[name].submitted) for name in _ORDER]
    queues = [by_name[name].queue for name in _ORDER]
    whole = simulation.extent.scale
    yield Claim(
        "Table 1",
        "REC: FIXED submits more tasks than ICR, ICR more than IIR",
        tasks[0] > tasks[1] > tasks[2],
        ", ".join(f"{name} {count * whole / 1e6:.3g} million" for name, count in _zip(tasks)),
    )
    yield Claim(
        "Fig. 4",
        "REC: most tasks wait under FIXED, the fewest under IIR (as its text explains; its numbers"
        " have it the other way round)",
        queues[0] > queues[1] > queues[2],
        ", ".join(f"{name} {queue:.1f}" for name, queue in _zip(queues)) + " at each crawler",
    )


def _zip(values: list[float] | list[int]) -> Iterator[tuple[str, float]]:
    yield from zip(_ORDER, values, strict=True)


def _throughput(found: Figures) -> float:
    half = len(found.series.megabits) // 2
    return sum(found.series.megabits[half:]) / max(len(found.series.megabits) - half, 1)


def _twice(simulation: Simulation, seed: int) -> Claim:
    ratios = {
        name: _throughput(simulation.of("RUC", name, seed))
        / _throughput(simulation.of("REC", name, seed))
        for name in _ORDER
    }
    return Claim(
        "4.3, Fig. 5",
        "RUC: about twice the throughput of REC (paper: under IIR and ICR)",
        all(_TWICE[0] <= ratio <= _TWICE[1] for ratio in ratios.values()),
        ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()),
    )


def _half(simulation: Simulation, seed: int) -> Claim:
    found = simulation.of("REC", "FIXED", seed)
    half = len(found.series.here) // 2
    here = sum(found.series.here[half:]) / max(len(found.series.here) - half, 1)
    of_all = _throughput(found) / found.line_megabits
    share = of_all * CASES["REC"] / simulation.extent.scale / here
    return Claim(
        "4.2, Fig. 4",
        "the throughput is half of crawlers times bandwidth",
        0.4 <= share <= 0.6,
        f"{share:.2f} of that of the crawlers that are there ({of_all:.2f} of all); only what is"
        " finished counts",
    )


def _ratchets(simulation: Simulation, seed: int) -> Iterator[Claim]:
    for name in RATCHETS:
        found = {d: simulation.runs[Run("REC", name, seed, d)].success for d in DELTAS}
        off = {delta: abs(success - sqrt(1 - delta)) for delta, success in found.items()}
        yield Claim(
            "ratchet",
            f"REC: {name} rests at a success of √(1 − δ), within {_LAW_NEAR}",
            max(off.values()) <= _LAW_NEAR,
            ", ".join(
                f"δ {delta:g}: {success:.2f} for {sqrt(1 - delta):.2f}"
                for delta, success in found.items()
            )
            + (f"; {_WHY_ABOVE}" if name == "IIR" else ""),
        )


def _pulls(simulation: Simulation) -> Iterator[Claim]:
    seeds = list(seeds_of(simulation))
    for case, least in _LEAST_GAIN.items():
        gains = [_gain(simulation, case, PULL_FRESH, seed) for seed in seeds]
        yield Claim(
            f"ours, {case}",
            f"pull by freshness per cost: weighted freshness at least {least:g} times FIXED's",
            min(gains)[0] >= least,
            _range(gains, seeds),
        )
    gains = [_gain(simulation, "REC", PULL_AGE, seed) for seed in seeds]
    covered = min(simulation.of("REC", PULL_AGE, seed).covered for seed in seeds)
    yield Claim(
        "ours, REC",
        f"pull by age per cost: at least {_LEAST_AGE_GAIN:g} times, and {_LEAST_COVERED:.0%} of"
        " the channels are updated",
        min(gains)[0] >= _LEAST_AGE_GAIN and covered >= _LEAST_COVERED,
        f"{_range(gains, seeds)}; {covered:.2%} or more",
    )


def _range(gains: list[tuple[float, float]], seeds: list[int]) -> str:
    by_tasks, by_pages = (
        f"{min(row):.2f}" + (f" to {max(row):.2f}" if len(row) > 1 else "")
        for row in zip(*gains, strict=True)
    )
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{by_tasks} times, copies as old as their tasks; {by_pages} page by page; {which}"


def _gain(simulation: Simulation, case: str, strategy: str, seed: int) -> tuple[float, float]:
    """By tasks, which is how the independent results reckon, and by pages."""
    ours, fixed = simulation.of(case, strategy, seed), simulation.of(case, "FIXED", seed)
    return (
        ours.weighted_task_freshness / fixed.weighted_task_freshness,
        ours.weighted_freshness / fixed.weighted_freshness,
    )
