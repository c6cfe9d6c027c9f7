"""The partition of Headgate's batch mode: the better of LPT and MULTIFIT, bettered by local search.

Within a thousandth of the bound on sizes by a power law, where nothing is left to gain. Machines
that have no contact during the run need it; all others do better with a pull (`pull`), which does
not depend on the estimates."""

from __future__ import annotations

from headgate.placing.local_search import local_search
from headgate.placing.lpt import lpt
from headgate.placing.multifit import multifit
from headgate.placing.partition import FloatArray, Owners, makespan

__all__ = ["best_batch"]


def best_batch(work: FloatArray, speeds: FloatArray) -> Owners:
    starts = (lpt(work, speeds), multifit(work, speeds))
    searched = [local_search(start, work, speeds) for start in starts]
    return min(searched, key=lambda owners: makespan(owners, work, speeds))
