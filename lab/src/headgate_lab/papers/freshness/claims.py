"""What is claimed of the policies, and of how well rates are known; bounds were set beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.freshness.estimation import Estimation, largest_gap, together
from headgate_lab.papers.freshness.replay import Outcome
from headgate_lab.papers.freshness.rivals import FRESHNESS, HEADGATE, UNIFORM

__all__ = ["Cell", "Outcomes", "estimation_claims", "replay_claims"]

_UNIFORM_FRESH = {120.0: 0.7215, 30.0: 0.8926, 10.0: 0.9523}
"""By a replay of the same changes that was written apart from this one."""
_MOST_STALE = {120.0: 0.85, 30.0: 0.82, 10.0: 0.77}
_MOST_AGED = {120.0: 0.73, 30.0: 0.66, 10.0: 0.53}
_MOST_ERROR = (0.74, 0.58, 0.43)


@dataclass(frozen=True, slots=True)
class Cell:
    """What is played: a web by seed, a budget."""

    seed: int
    alike: bool
    """Whether all pages are equally important; otherwise importances are Pareto."""
    budget_days: float

    @property
    def name(self) -> str:
        kind = "equal importance" if self.alike else "Pareto importance"
        return f"{self.budget_days:g} days, {kind}, seed {self.seed}"


Outcomes = Mapping[Cell, Mapping[str, Outcome]]


def replay_claims(outcomes: Outcomes) -> list[Claim]:
    return [
        *_unequal({cell: found for cell, found in outcomes.items() if not cell.alike}),
        *_alike({cell: found for cell, found in outcomes.items() if cell.alike}),
        _nobody_pays(outcomes),
        _uniform(outcomes),
        _rivals(outcomes),
        _bytes(outcomes),
    ]


def estimation_claims(found: Sequence[Estimation]) -> Iterator[Claim]:
    errors = np.mean([each.errors for each in found], axis=0)
    yield Claim(
        "estimator",
        f"errors of the rate's logarithm after 5, 10, 30 looks are at most {_listed(_MOST_ERROR)}",
        bool((errors <= _MOST_ERROR).all()),
        f"{_listed(errors.tolist())} on average of {len(found)} seeds",
    )
    loss = float(np.mean([each.log_loss for each in found]))
    gap = largest_gap(together(each.bins for each in found))
    single, chance = (
        float(np.mean(gaps))
        for gaps in zip(*((each.largest_gap, each.gap_by_chance) for each in found), strict=True)
    )
    yield Claim(
        "estimator",
        "of what is said of real pages the log loss is at most 0.195, the largest gap 0.07",
        loss <= 0.195 and gap <= 0.07,
        f"log loss {loss:.4f}, gap {gap:.3f}, {len(found)} seeds together; by single seeds"
        f" {single:.3f} on average, where chance alone makes {chance:.3f}",
    )


def _unequal(outcomes: Outcomes) -> Iterator[Claim]:
    stale = [_stale(found) for found in outcomes.values()]
    aged = [_aged(found) for found in outcomes.values()]
    if not stale:
        return
    yield Claim(
        "headgate",
        "importances unequal: weighted staleness at most 0.70 of uniform's, 0.62 on average",
        max(stale) <= 0.70 and float(np.mean(stale)) <= 0.62,
        f"{min(stale):.2f} to {max(stale):.2f}, {np.mean(stale):.2f} on average",
    )
    yield Claim(
        "headgate",
        "importances unequal: weighted age at most 0.52 of uniform's",
        max(aged) <= 0.52,
        f"{min(aged):.2f} to {max(aged):.2f}",
    )


def _alike(outcomes: Outcomes) -> Iterator[Claim]:
    for what, ratio, bounds in (("staleness", _stale, _MOST_STALE), ("age", _aged, _MOST_AGED)):
        ratios = {cell.budget_days: ratio(found) for cell, found in outcomes.items()}
        yield Claim(
            "headgate",
            f"importances equal: {what} at most {_listed(bounds.values())} of uniform's",
            all(found <= bounds[days] for days, found in ratios.items()),
            f"{_listed(ratios.values())} at {_listed(ratios, 0)} days",
        )


def _nobody_pays(outcomes: Outcomes) -> Claim:
    worse = [
        f"{cell.name}: {what} {ours:.2f} against {theirs:.2f}"
        for cell, found in outcomes.items()
        for what, ours, theirs, is_worse in _of_all(found)
        if is_worse
    ]
    return Claim(
        "headgate",
        "freshness and age of all pages alike are nowhere worse than uniform's",
        not worse,
        "; ".join(worse) or f"in {len(outcomes)} cells",
    )


def _of_all(found: Mapping[str, Outcome]) -> Iterator[tuple[str, float, float, bool]]:
    ours, uniform = found[HEADGATE], found[UNIFORM]
    yield "freshness", ours.freshness, uniform.freshness, ours.freshness < uniform.freshness
    yield "age", ours.age, uniform.age, ours.age > uniform.age


def _uniform(outcomes: Outcomes) -> Claim:
    off = [
        abs(found[UNIFORM].freshness - _UNIFORM_FRESH[cell.budget_days])
        for cell, found in outcomes.items()
        if cell.alike
    ]
    return Claim(
        "replay",
        "uniform looks are as fresh as an independent replay found, within 0.003",
        max(off) <= 0.003,
        f"at most {max(off):.4f} off",
    )


def _rivals(outcomes: Outcomes) -> Claim:
    ours = (HEADGATE, FRESHNESS, UNIFORM)
    cases = [
        (f"{name} at {cell.name}", found[name].freshness < found[UNIFORM].freshness)
        for cell, found in outcomes.items()
        if cell.budget_days >= 30 and cell.alike
        for name in found
        if name not in ours
    ]
    better = [name for name, worse in cases if not worse]
    return Claim(
        "SARSS, Nutch",
        "following changes with intervals is less fresh than uniform looks, at 120 and 30 days",
        not better,
        "; ".join(better) or f"in all of {len(cases)} cases",
    )


def _bytes(outcomes: Outcomes) -> Claim:
    ours = [found[HEADGATE].used for found in outcomes.values()]
    everybody = [each.used for found in outcomes.values() for each in found.values()]
    return Claim(
        "replay",
        "headgate uses the budget to 1 %, and nobody more than it has",
        max(abs(used - 1) for used in ours) <= 0.01 and max(everybody) <= 1.01,
        f"headgate {min(ours):.4f} to {max(ours):.4f} of it, all at most {max(everybody):.4f}",
    )


def _stale(found: Mapping[str, Outcome]) -> float:
    ours, uniform = found[HEADGATE], found[UNIFORM]
    return (1 - ours.weighted_freshness) / (1 - uniform.weighted_freshness)


def _aged(found: Mapping[str, Outcome]) -> float:
    return found[HEADGATE].weighted_age / found[UNIFORM].weighted_age


def _listed(numbers: Iterable[float], digits: int = 2) -> str:
    return ", ".join(f"{number:.{digits}f}" for number in numbers)
