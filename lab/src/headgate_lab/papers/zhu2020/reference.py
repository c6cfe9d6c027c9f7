"""Results for the same instances obtained independently of this project, beside ours.

The families are random, so means over other draws differ by some percent; orders of magnitude and
orderings must agree. The capped instances of the reference are not ours: a linear programme
(``scheduling.bounds``) proves for ours, seed 1 at 530 kbit/s, a mean lateness that no schedule
can go below, and in all four capped cases the reference reports less. Its deadlines must have
been looser; how it set them is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.zhu2020.comparison import Cell, Comparison, mean_outcome
from headgate_lab.papers.zhu2020.instant import InstantResult

__all__ = ["FIGURES_OF_MERIT", "SIX_SITES", "Reference", "references"]

_MAX_TIME = {"M-MAXT": 183.6, "M-SUMT": 205.6, "PROBandwidth": 239.4, "Random": 227.2, "GA": 185.4}
_TOTAL_TIME = {"M-MAXT": 863.8, "M-SUMT": 853.5, "PROBandwidth": 923, "Random": 897.3, "GA": 854.2}
_LATENESS = {
    "M-STET": 86.0,
    "PRODataAmount": 152.9,
    "PROBandwidth": 223.2,
    "GA": 87.2,
    "DE": 86.3,
}

SIX_SITES = {"latest end": _MAX_TIME, "sum of times": _TOTAL_TIME, "total lateness": _LATENESS}
FIGURES_OF_MERIT = ("makespan", "total_time", "lateness", "on_time_percent", "obj1", "obj2")
_MILD, _HARD = "caps .15-.7", "caps .1-.3"
_MILD_LATER = "caps .15-.7, × 1.15"
_FIFTY: dict[tuple[Cell, str], tuple[float | None, ...]] = {
    (Cell(family, caps, bandwidth), policy): values
    for family, caps, bandwidth, policy, values in (
        ("P", "no caps", 520.0, "ReAlloc-MAXT", (2070, 9978, 1108, 54.6, 14.58, 16.16)),
        ("P", "no caps", 520.0, "ReAlloc-SUMT", (2072, 9971, 1100, 54.6, 14.58, 16.16)),
        ("P", "no caps", 520.0, "AllocOnce", (2123, 10042, 1961, 50, 15.22, 16.78)),
        ("P", "no caps", 520.0, "ReAlloc-PROBandwidth", (8562, 24875, 17551, 41, 17.74, 18.98)),
        ("P", "no caps", 520.0, "ReAlloc-PRODataAmount", (2001, 10007, 1723, 40, 15.03, 16.64)),
        ("P", "no caps", 520.0, DEFAULT_POLICY, (2001, 2001, 87, 92.8, 11.28, 11.28)),
        ("P", "no caps", 530.0, "ReAlloc-MAXT", (2014, 9739, 512, 73, 13.71, 15.28)),
        ("P", "no caps", 530.0, DEFAULT_POLICY, (1964, 1964, 24, 97, 9.57, 9.57)),
        ("P", "no caps", 540.0, "ReAlloc-MAXT", (1971, 9568, 180, 87, 12.31, 13.89)),
        ("P", "no caps", 540.0, DEFAULT_POLICY, (1927, 1927, 5, 99.5, 8.05, 8.05)),
        ("Q", "no caps", 530.0, "ReAlloc-MAXT", (1997, 9796, 2527, 53, 15.04, 16.63)),
        ("Q", "no caps", 530.0, DEFAULT_POLICY, (1975, 1975, 862, 77.5, 13.45, 13.45)),
        ("R", "no caps", 530.0, "ReAlloc-MAXT", (2002, 9848, 23878, 0.7, 17.68, 19.27)),
        ("R", "no caps", 530.0, DEFAULT_POLICY, (1975, 1975, 15058, 25, 17.20, 17.20)),
        ("P", _MILD, 530.0, "ReAlloc-MAXT", (2387, 11427, 1681, 57.9, 15.08, 16.65)),
        ("P", _MILD, 530.0, DEFAULT_POLICY, (1969, 8204, 87, 97, 11.15, None)),
        ("Q", _MILD, 530.0, "ReAlloc-SUMT", (2279, 10874, 2615, 58, 14.63, 16.19)),
        ("Q", _MILD, 530.0, DEFAULT_POLICY, (1970, None, 144, 93, 9.90, None)),
        ("P", _HARD, 530.0, "ReAlloc-MAXT", (3015, 14291, 7054, 25, 16.81, 18.37)),
        ("P", _HARD, 530.0, DEFAULT_POLICY, (2466, None, 1006, 82, 14.20, None)),
        ("Q", _HARD, 530.0, "ReAlloc-MAXT", (3010, 14143, 9703, 24, 17.08, 18.62)),
        ("Q", _HARD, 530.0, DEFAULT_POLICY, (2377, None, 1158, 84, 13.30, None)),
        ("P", _MILD_LATER, 530.0, "ReAlloc-MAXT", (None, None, 1616, None, None, None)),
        ("P", _MILD_LATER, 530.0, DEFAULT_POLICY, (None, None, 63, None, None, None)),
    )
}
"""In the order of ``FIGURES_OF_MERIT``; None: not given for this objective."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One policy on one instance: figure of merit to (reference, ours)."""

    instance: str
    policy: str
    figures: dict[str, tuple[float, float]]


def references(
    sufficient: Iterable[InstantResult],
    insufficient: Iterable[InstantResult],
    comparison: Comparison,
) -> list[Reference]:
    """Every value of the reference for which ours is there."""
    return [*_six_sites(sufficient, insufficient), *_fifty_sites(comparison)]


def _six_sites(
    sufficient: Iterable[InstantResult], insufficient: Iterable[InstantResult]
) -> Iterator[Reference]:
    for result in sufficient:
        name = result.policy
        if name in _MAX_TIME:
            times = {
                "makespan": (_MAX_TIME[name], result.max_time),
                "total_time": (_TOTAL_TIME[name], result.total_time),
            }
            yield Reference("six sites, 950", name, times)
    for result in insufficient:
        name = result.policy
        if name in _LATENESS:
            late = {"lateness": (_LATENESS[name], result.lateness)}
            yield Reference("six sites, 1300", name, late)


def _fifty_sites(comparison: Comparison) -> Iterator[Reference]:
    for (cell, policy), values in _FIFTY.items():
        if cell not in comparison:
            continue
        mean = mean_outcome(comparison[cell][policy])
        figures = {
            figure: (value, float(getattr(mean, figure)))
            for figure, value in zip(FIGURES_OF_MERIT, values, strict=True)
            if value is not None
        }
        yield Reference(f"{cell.family}, {cell.caps}, {cell.bandwidth:.0f}", policy, figures)
