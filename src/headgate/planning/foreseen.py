"""Predicts when the sites of a running crawl will end, for display only.

The order is simulated with what is known now. A site's current rate says little: it may be held
back for others now and have the whole line later. If the order alone would miss deadlines that can
be met, the crawl guards them (guarding.py): then these sites end by their deadlines.

Cost: a simulation, O(n^2). Beyond `_MOST_SITES` nothing is predicted.
"""

from __future__ import annotations

import numpy as np

from headgate.planning.event import event_schedule
from headgate.planning.replan import CrawlState
from headgate.planning.water_filling import deadlines_can_be_met

__all__ = ["foreseen_ends"]

_MOST_SITES = 200


def foreseen_ends(state: CrawlState) -> dict[str, float]:
    """Seconds from the start of the run, by site; empty: nothing is predicted."""
    names = [*state.running, *state.waiting]
    if not 0 < len(names) <= _MOST_SITES:
        return {}
    problem = state.problem(names)
    ends = event_schedule(problem, range(len(names))).site_ends
    if (ends > problem.deadlines).any() and deadlines_can_be_met(problem):
        ends = np.minimum(ends, problem.deadlines)
    return dict(zip(names, (state.now + ends).tolist(), strict=True))
