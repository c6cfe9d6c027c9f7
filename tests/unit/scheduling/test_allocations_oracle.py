"""M-MAXT, M-SUMT and M-STET against a convex solver: the same optimum, instance by instance.

Each programme is compiled once per number of sites and solved again with other parameters. The
solver sees a line of width n and sites of mean size 1, so that all its numbers are near 1; the
allocations see the same instance in units of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt
from headgate.scheduling.arrays import FloatArray

cp: Any = import_module("cvxpy")  # it builds half of its names at run time, unseen by mypy

SITE_COUNTS = (1, 2, 5, 12, 30)
INSTANCES_EACH = 120
SAME = 1e-6
SOLVER = {"tol_gap_rel": 1e-9, "tol_gap_abs": 1e-9, "tol_feas": 1e-9}
UNITS = (1.0, 8_000.0)
"""Bytes per unit of the solver; an allocation must not care."""


@dataclass(frozen=True)
class Instance:
    """A line of width n. Deadlines and caps of infinity: none."""

    work: FloatArray
    deadlines: FloatArray
    caps: FloatArray
    unit: float

    def given(self) -> tuple[FloatArray, FloatArray, float, FloatArray | None]:
        """What the allocation is called with."""
        caps = None if np.isinf(self.caps).all() else self.caps * self.unit
        return self.work * self.unit, self.deadlines, len(self.work) * self.unit, caps

    @property
    def counted_from(self) -> FloatArray:
        """M-STET: sites without deadline and overdue ones count from time 0."""
        has_deadline = np.isfinite(self.deadlines) & (self.deadlines > 0)
        return np.where(has_deadline, self.deadlines, 0.0)


def _instance(count: int, seed: int, *, sufficient: bool) -> Instance:
    """Every other one with caps; deadlines for all, some or none of the sites."""
    rng = np.random.default_rng([count, seed, sufficient])
    work = rng.lognormal(0, 1, count)
    work /= work.mean()
    tightness = rng.uniform(0.1, 0.98) if sufficient else rng.uniform(1.1, 4)
    needs = count * tightness * rng.dirichlet(np.ones(count))
    deadlines = np.where(rng.random(count) < rng.choice([0.0, 0.3, 1.0]), np.inf, work / needs)
    if not sufficient:
        deadlines[rng.random(count) < 0.15] = -rng.uniform(0, 1)
    caps = np.full(count, np.inf)
    if seed % 2:
        caps = rng.uniform(0.2, 4, count)
        caps = np.maximum(caps, needs * rng.uniform(1, 1.5, count)) if sufficient else caps
        caps[rng.random(count) < 0.3] = np.inf
    return Instance(work, deadlines, caps, UNITS[seed // 2 % 2])


@dataclass(frozen=True)
class Programme:
    problem: Any
    roots: Any
    floors: Any
    ceilings: Any
    limits: Any

    def optimum(self, instance: Instance, *, keep_deadlines: bool) -> float:
        floors = instance.work / instance.deadlines
        self.roots.value = np.sqrt(instance.work)
        self.floors.value = floors if keep_deadlines else np.zeros_like(floors)
        self.ceilings.value = np.minimum(instance.caps, len(floors))
        self.limits.value = instance.counted_from
        return float(self.problem.solve(solver=cp.CLARABEL, **SOLVER))


@cache
def _programme(objective: str, count: int) -> Programme:
    """``D / v <= t`` as a second-order cone."""
    rates, times, late = (cp.Variable(count) for _ in range(3))
    roots, floors, ceilings, limits = (cp.Parameter(count, nonneg=True) for _ in range(4))
    cone = cp.SOC(times + rates, cp.vstack([2 * roots, times - rates]), axis=0)
    line = [cp.sum(rates) <= count, rates >= floors, rates <= ceilings, cone]
    problem = {
        "max": cp.Problem(cp.Minimize(cp.max(times)), line),
        "sum": cp.Problem(cp.Minimize(cp.sum(times)), line),
        "late": cp.Problem(cp.Minimize(cp.sum(late)), [*line, late >= times - limits, late >= 0]),
    }[objective]
    return Programme(problem, roots, floors, ceilings, limits)


def _assert_allowed(rates: FloatArray, instance: Instance, *, keep_deadlines: bool) -> None:
    work, deadlines, budget, caps = instance.given()
    assert rates.sum() <= budget * (1 + 1e-9)
    assert caps is None or (rates <= caps * (1 + 1e-9)).all()
    assert not keep_deadlines or (work / rates <= deadlines * (1 + 1e-9)).all()


@pytest.mark.parametrize("count", SITE_COUNTS)
def test_m_maxt(count: int) -> None:
    for seed in range(INSTANCES_EACH):
        instance = _instance(count, seed, sufficient=True)
        rates = m_maxt(*instance.given())
        _assert_allowed(rates, instance, keep_deadlines=True)
        best = _programme("max", count).optimum(instance, keep_deadlines=True)
        assert (instance.work * instance.unit / rates).max() == pytest.approx(best, rel=SAME), seed


@pytest.mark.parametrize("count", SITE_COUNTS)
def test_m_sumt(count: int) -> None:
    for seed in range(INSTANCES_EACH):
        instance = _instance(count, seed, sufficient=True)
        rates = m_sumt(*instance.given())
        _assert_allowed(rates, instance, keep_deadlines=True)
        best = _programme("sum", count).optimum(instance, keep_deadlines=True)
        assert (instance.work * instance.unit / rates).sum() == pytest.approx(best, rel=SAME), seed


@pytest.mark.parametrize("count", SITE_COUNTS)
def test_m_stet(count: int) -> None:
    for seed in range(INSTANCES_EACH):
        instance = _instance(count, seed, sufficient=False)
        rates = m_stet(*instance.given())
        _assert_allowed(rates, instance, keep_deadlines=False)
        times = instance.work * instance.unit / rates
        late = np.maximum(times - instance.counted_from, 0.0).sum()
        best = _programme("late", count).optimum(instance, keep_deadlines=False)
        assert late == pytest.approx(best, rel=SAME), seed
