"""Random problems for Hypothesis and for seeded oracle runs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from headgate.model.budget import Objective
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.problem import Problem


def random_problem(
    seed: int,
    *,
    most_sites: int = 8,
    capped: bool = True,
    timetable: bool = True,
    slots: int | None = None,
    tightness: tuple[float, float] = (0.4, 2.5),
) -> Problem:
    """A problem of moderate numbers whose deadlines are around what the budget allows."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, most_sites + 1))
    work = rng.uniform(1.0, 50.0, count)
    budget = float(rng.uniform(5.0, 20.0))
    span = work.sum() / budget
    capacity = Capacity.constant(budget)
    if timetable:
        starts = np.sort(rng.uniform(0.05, 1.5, int(rng.integers(1, 4)))) * span
        rates = budget * rng.choice([0.0, 0.3, 0.7, 1.0, 1.6], len(starts) + 1)
        rates[-1] = budget
        capacity = Capacity.from_pieces(zip([0.0, *starts], rates, strict=True))
    deadlines = span * rng.uniform(*tightness) * rng.uniform(0.1, 1.0, count)
    deadlines[rng.random(count) < 0.15] = np.inf
    caps = budget * rng.uniform(0.1, 1.3, count) if capped else None
    objective = Objective.MAKESPAN if seed % 2 else Objective.TOTAL_TIME
    return Problem.from_arrays(
        work, deadlines, budget=capacity, caps=caps, slots=slots, objective=objective
    )


def problems(
    *, capped: bool | None = None, timetable: bool | None = None, enough_slots: bool = False
) -> st.SearchStrategy[Problem]:
    """Problems of up to eight sites; each property drawn where it is not fixed."""
    return st.builds(
        random_problem,
        st.integers(0, 2**32),
        capped=st.booleans() if capped is None else st.just(capped),
        timetable=st.booleans() if timetable is None else st.just(timetable),
        slots=st.none() if enough_slots else st.one_of(st.none(), st.integers(1, 5)),
        tightness=st.sampled_from([(0.1, 0.5), (0.4, 2.5), (2.0, 4.0)]),
    )
