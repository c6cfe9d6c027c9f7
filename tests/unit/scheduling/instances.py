"""Random planning problems, with everything in them that is allowed and unpleasant."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from headgate.model.budget import Objective
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.problem import Problem

BUDGET = 1000.0


def _between(low: float, high: float) -> st.SearchStrategy[float]:
    """Evenly spread over the magnitudes."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


WORK = st.one_of(_between(1.0, 1e6), st.sampled_from([100.0, 1000.0]))
DEADLINE = st.one_of(
    _between(0.01, 1e4), st.sampled_from([math.inf, 0.0, -1.0, -500.0, 1.0, 10.0, 10.0])
)
CAP = st.one_of(_between(BUDGET / 50, BUDGET * 2), st.just(math.inf), st.just(BUDGET / 4))


@st.composite
def capacities(draw: st.DrawFn) -> Capacity:
    """Constant, or a timetable whose rates may be 0 for a while."""
    lengths = draw(st.lists(_between(0.01, 1000.0), max_size=4))
    rates = draw(
        st.lists(
            st.one_of(_between(1.0, 1e4), st.sampled_from([0.0, BUDGET])),
            min_size=len(lengths),
            max_size=len(lengths),
        )
    )
    starts = np.concatenate(([0.0], np.cumsum(lengths)))
    return Capacity.from_pieces(zip(starts, [*rates, BUDGET], strict=True))


@st.composite
def problems(draw: st.DrawFn, *, all_at_once: bool = False) -> Problem:
    """Up to a dozen sites; ``all_at_once``: with a slot for each."""
    work = draw(st.lists(WORK, min_size=1, max_size=12))
    count = len(work)
    slots = count + draw(st.integers(0, 2)) if all_at_once else draw(st.integers(1, count + 1))
    return Problem.from_arrays(
        work,
        draw(st.lists(DEADLINE, min_size=count, max_size=count)),
        budget=draw(st.one_of(st.just(Capacity.constant(BUDGET)), capacities())),
        caps=draw(st.one_of(st.none(), st.lists(CAP, min_size=count, max_size=count))),
        slots=slots,
        objective=draw(st.sampled_from(Objective)),
    )
