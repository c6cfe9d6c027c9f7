"""What the paper prints, and which of its numbers cannot be, by reckoning with its other numbers.

Groups are the fastest first; the paper's tables call that rank 4."""

from __future__ import annotations

import numpy as np

from headgate_lab.papers.claim import Claim
from headgate_lab.worlds.volunteers import CHANNELS, FIRST_INTERVALS, WEIGHTS

__all__ = [
    "CASES",
    "INTERVALS",
    "MINUTES",
    "QUALITY",
    "QUEUES",
    "TASKS",
    "implied_updates",
    "impossible",
]

MINUTES = 100_000
CASES = {"REC": 1400, "RUC": 2800}
"""Requirement exceeds, or underestimates, the capacity: by how many crawlers there are."""
TASKS = {
    ("REC", "FIXED"): (905e3, 3295e3, 2979e3, 795e3, 56e3),
    ("REC", "IIR"): (251e3, 1212e3, 1512e3, 471e3, 38e3),
    ("REC", "ICR"): (522e3, 1719e3, 1499e3, 393e3, 27e3),
    ("RUC", "FIXED"): (905e3, 3295e3, 2979e3, 795e3, 56e3),
    ("RUC", "IIR"): (738e3, 3506e3, 3388e3, 943e3, 75e3),
    ("RUC", "ICR"): (975e3, 3428e3, 3805e3, 691e3, 52e3),
}
"""Tables 1 and 3."""
INTERVALS = {
    ("REC", "FIXED"): (60.0, 120.0, 240.0, 480.0, 960.0),
    ("REC", "IIR"): (216.0, 326.0, 473.0, 811.0, 1412.0),
    ("REC", "ICR"): (104.0, 230.0, 477.0, 972.0, 1964.0),
    ("RUC", "FIXED"): (60.0, 120.0, 240.0, 480.0, 960.0),
    ("RUC", "IIR"): (74.0, 110.0, 214.0, 399.0, 782.0),
    ("RUC", "ICR"): (56.0, 112.0, 190.0, 544.0, 1119.0),
}
QUALITY = {
    ("REC", "FIXED"): (1.9987, 0.5571),
    ("REC", "IIR"): (2.0266, 0.4936),
    ("REC", "ICR"): (2.0176, 0.4331),
    ("RUC", "FIXED"): (4.7873, 1.0013),
    ("RUC", "IIR"): (9.1474, 1.9827),
    ("RUC", "ICR"): (8.2611, 1.9701),
}
"""Tables 2 and 4: update quality, weighted and not."""
QUEUES = {
    ("REC", "FIXED"): 17.0,
    ("REC", "IIR"): 2.8,
    ("REC", "ICR"): 1.4,
    ("RUC", "FIXED"): 0.36,
    ("RUC", "IIR"): 2.0,
    ("RUC", "ICR"): 3.0,
}
"""Tasks that wait at each crawler, as the text has them."""
_STEPS = 90_000
_LIFE, _AWAY = 1000.0, 600.0


def impossible() -> list[Claim]:
    """Numbers of the paper; none of them holds."""
    intervals = np.array(INTERVALS["REC", "FIXED"])
    counts = np.array(TASKS["REC", "FIXED"])
    channels = {steps: float((counts * intervals / steps).sum()) for steps in (_STEPS, MINUTES)}
    online = CASES["REC"] * _LIFE / (_LIFE + _AWAY)
    found = [
        Claim(
            "4",
            f"the simulation has {_STEPS:,} steps",
            holds=False,
            numbers=f"tasks times intervals over steps are {channels[_STEPS]:,.0f} channels then;"
            f" with {MINUTES:,} steps they are the {channels[MINUTES]:,.0f} it speaks of",
        ),
        Claim(
            "Table 1",
            "mean intervals are 60, 216 and 104",
            holds=False,
            numbers="these are its first row once more; weighted by channels they are "
            + ", ".join(f"{_mean_interval('REC', name):.0f}" for name in ("FIXED", "IIR", "ICR")),
        ),
        Claim(
            "4.2",
            "700 of 1400 crawlers are online in the mean",
            holds=False,
            numbers=f"lives of 1000 and gaps of 600 steps leave {online:.0f}",
        ),
        Claim(
            "4.2",
            "17 tasks wait at each crawler under FIXED, and a queue holds 5 at the most",
            holds=False,
            numbers="one of the two; here queues are not cut, as the 17 suggest",
        ),
        _success(),
    ]
    return [*found, *(_table_4(name) for name in ("IIR", "ICR"))]


def _mean_interval(case: str, name: str) -> float:
    channels = np.array(CHANNELS)
    return float((channels * np.array(INTERVALS[case, name])).sum() / channels.sum())


def implied_updates(case: str, name: str) -> float:
    """By the weighted quality: weights go with change rates, so it is updates over expected
    ones."""
    expected = np.array(CHANNELS) * MINUTES / FIRST_INTERVALS
    most = float((np.array(CHANNELS) * WEIGHTS).sum() / sum(CHANNELS))
    return float(QUALITY[case, name][0] / most * expected.sum())


def _success() -> Claim:
    rates = [
        implied_updates("REC", name) / sum(TASKS["REC", name]) for name in ("FIXED", "IIR", "ICR")
    ]
    return Claim(
        "4.2",
        "under FIXED less than 15 % of the tasks succeed, under IIR and ICR 30 %",
        holds=False,
        numbers="by Tables 1 and 2 it is " + ", ".join(f"{rate:.0%}" for rate in rates)
        + " (FIXED, IIR, ICR)",
    )  # fmt: skip


def _table_4(name: str) -> Claim:
    needed, tasks = implied_updates("RUC", name), sum(TASKS["RUC", name])
    weighted, alike = QUALITY["RUC", name]
    return Claim(
        "Table 4",
        f"{name} has update qualities of {weighted:g} and {alike:g}",
        holds=False,
        numbers=f"that takes {needed / 1e6:.1f} million updates of {tasks / 1e6:.2f} million tasks;"
        f" halved it would be {needed / 2 / tasks:.0%}",
    )
