"""Questions about the curves of a figure: do they rise, which is lowest, where do they bend?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.zhu2020.comparison import PAPER_POLICIES
from headgate_lab.papers.zhu2020.figures import Figure, Panel

__all__ = [
    "against",
    "columns",
    "drop",
    "linearity",
    "places_from_worst",
    "slopes",
    "way",
    "worst_ratio",
]

_NOISE = 0.01
"""A step against a trend of this part of the whole way is chance: Fig. 10 has means of samples."""


def against(panel: Panel, sign: float, *, noise: float = _NOISE) -> list[str]:
    """The paper's approaches that somewhere take a step against the trend."""
    found = []
    for policy, values in panel.series.items():
        steps = sign * np.diff(values)
        if policy != DEFAULT_POLICY and steps.min() <= -noise * abs(values[-1] - values[0]):
            found.append(policy)
    return found


def columns(panel: Panel, policy: str, others: Iterable[str]) -> Iterable[tuple[float, ...]]:
    return zip(panel.series[policy], *(panel.series[other] for other in others), strict=True)


def worst_ratio(panels: Iterable[Panel], policy: str, others: Sequence[str]) -> float:
    """The largest ratio of a policy to the best of the others at the same place."""
    return max(
        ours / min(theirs) for panel in panels for ours, *theirs in columns(panel, policy, others)
    )


def places_from_worst(panel: Panel, policy: str) -> int:
    others = [name for name in PAPER_POLICIES if name != policy]
    return max(
        sum(value > ours for value in theirs) for ours, *theirs in columns(panel, policy, others)
    )


def slopes(figure: Figure, values: Sequence[float], knee: float) -> tuple[float, float]:
    """Mean slope up to the knee and from it on."""
    at = figure.x.index(knee)
    before = (values[at] - values[0]) / (knee - figure.x[0])
    return before, (values[-1] - values[at]) / (figure.x[-1] - knee)


def linearity(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def drop(values: Sequence[float]) -> float:
    return values[0] - values[-1]


def way(panel: Panel, policy: str) -> str:
    values = panel.series[policy]
    return f"{values[0]:.4g} → {values[-1]:.4g}"
