"""Fig. 2 to 10 as numbers: a figure has panels, a panel a series per policy.

Axes as in the paper where it prints them. In Fig. 2 the deadlines are the same at every bandwidth
and must be met at 800 kbit/s already, so Eq. 1 asks for 760 there. Ours beside the paper's:
``headgate``, the default policy, which may change rates while it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from headgate.scheduling.policies import DEFAULT_POLICY
from headgate.scheduling.problem import Problem
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.zhu2020.comparison import PAPER_POLICIES, Cell, Task, compare, mean_outcome
from headgate_lab.papers.zhu2020.families import six_sites
from headgate_lab.papers.zhu2020.instant import (
    INSUFFICIENT_POLICIES,
    SUFFICIENT_POLICIES,
    run_instant,
)

__all__ = ["Figure", "Panel", "instant_figures", "scheduling_figures"]

_BANDWIDTH = "bandwidth (kbit/s)"
_DATA = "amount of data (kbit)"
_TIGHTNESS = "tightness: Eq. 1 (kbit/s)"
_BANDWIDTHS = tuple(float(rate) for rate in range(800, 1201, 50))
_TIGHTNESS_BELOW_EVERY_BANDWIDTH = 760.0
_SCHEDULING_BANDWIDTHS = tuple(float(rate) for rate in range(520, 541, 2))


@dataclass(frozen=True, slots=True)
class Panel:
    """One y axis; each series has a value per x of the figure."""

    label: str
    series: dict[str, tuple[float, ...]]
    log_scale: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    number: int
    title: str
    x_label: str
    x: tuple[float, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class _Sweep:
    """One thing varied on the six sites."""

    number: int
    x_label: str
    x: tuple[float, ...]
    problem_at: Callable[[float], Problem]


_SUFFICIENT = (
    _Sweep(
        2,
        _BANDWIDTH,
        _BANDWIDTHS,
        lambda rate: six_sites(tightness=_TIGHTNESS_BELOW_EVERY_BANDWIDTH, bandwidth=rate),
    ),
    _Sweep(
        3,
        _DATA,
        tuple(float(kbit) for kbit in range(100_000, 130_001, 5_000)),
        lambda kbit: six_sites(total=kbit),
    ),
    _Sweep(
        4,
        _TIGHTNESS,
        (935.0, 940.0, 945.0, 950.0, 955.0, 960.0, 965.0, 970.0, 975.0, 980.0, 985.0, 990.0),
        lambda tightness: six_sites(tightness=tightness),
    ),
)
_INSUFFICIENT = (
    _Sweep(
        5,
        _BANDWIDTH,
        _BANDWIDTHS,
        lambda rate: six_sites(tightness=1300.0, bandwidth=rate, sufficient=False),
    ),
    _Sweep(
        6,
        _DATA,
        tuple(float(kbit) for kbit in range(100_000, 150_001, 10_000)),
        lambda kbit: six_sites(tightness=1300.0, total=kbit, sufficient=False),
    ),
    _Sweep(
        7,
        _TIGHTNESS,
        tuple(float(tightness) for tightness in range(1050, 1501, 50)),
        lambda tightness: six_sites(tightness=tightness, sufficient=False),
    ),
)


def instant_figures(seed: int, numbers: Sequence[int] = (2, 3, 4, 5, 6, 7)) -> list[Figure]:
    """Fig. 2 to 7, or some of them: the six sites."""
    enough = [_sufficient(sweep, seed) for sweep in _SUFFICIENT if sweep.number in numbers]
    too_little = [_insufficient(sweep, seed) for sweep in _INSUFFICIENT if sweep.number in numbers]
    return enough + too_little


def scheduling_figures(
    instances: int,
    seed: int,
    mapper: Mapper,
    bandwidths: tuple[float, ...] = _SCHEDULING_BANDWIDTHS,
) -> list[Figure]:
    """Fig. 8 to 10: fifty sites of family P, means over instances."""
    cells = [Cell("P", "no caps", bandwidth) for bandwidth in bandwidths]
    comparison = compare([Task(cell, seed, k) for cell in cells for k in range(instances)], mapper)

    def panel(label: str, figure_of_merit: str, *, log_scale: bool = False) -> Panel:
        value = attrgetter(figure_of_merit)
        return Panel(
            label,
            {
                policy: tuple(value(mean_outcome(comparison[cell][policy])) for cell in cells)
                for policy in (*PAPER_POLICIES, DEFAULT_POLICY)
            },
            log_scale,
        )

    def figure(number: int, title: str, *panels: Panel) -> Figure:
        return Figure(number, title, _BANDWIDTH, bandwidths, panels)

    return [
        figure(8, "objective 1", panel("ln makespan + ln lateness", "obj1")),
        figure(9, "objective 2", panel("ln sum of execution times + ln lateness", "obj2")),
        figure(
            10,
            "time constraints",
            panel("total lateness (s)", "lateness", log_scale=True),
            panel("sites on time (%)", "on_time_percent"),
        ),
    ]


def _sufficient(sweep: _Sweep, seed: int) -> Figure:
    results = {
        policy: [run_instant(policy, sweep.problem_at(x), seed) for x in sweep.x]
        for policy in SUFFICIENT_POLICIES
    }
    latest = {policy: tuple(r.max_time for r in found) for policy, found in results.items()}
    total = {policy: tuple(r.total_time for r in found) for policy, found in results.items()}
    panels = (
        Panel("maximum complete time (s)", latest),
        Panel("sum of execution times (s)", total),
    )
    return Figure(sweep.number, "enough bandwidth, six sites", sweep.x_label, sweep.x, panels)


def _insufficient(sweep: _Sweep, seed: int) -> Figure:
    late = {
        policy: tuple(run_instant(policy, sweep.problem_at(x), seed).lateness for x in sweep.x)
        for policy in INSUFFICIENT_POLICIES
    }
    panels = (Panel("total lateness (s)", late),)
    return Figure(sweep.number, "too little bandwidth, six sites", sweep.x_label, sweep.x, panels)
