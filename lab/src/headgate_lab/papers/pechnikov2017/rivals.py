"""All algorithms, by name: the makespan of an instance, in seconds.

They see estimates and reference speeds; the makespan follows from the true ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.features.grid.placement.batches import (
    FloatArray,
    Owners,
    Remainder,
    best_batch,
    circular,
    local_search,
    longest_first,
    lpt,
    makespan,
    multifit,
    pechnikov,
)
from headgate.features.grid.placement.pull import Pull, SplitRule
from headgate_lab.papers.pechnikov2017.instances import Instance
from headgate_lab.papers.pechnikov2017.playing import play_pull

__all__ = ["BATCH", "PULL", "RIVALS"]

BATCH, PULL = "LPT + MULTIFIT + local search", "pull, longest first"
_LEAST_PART = 0.002
"""Of all work."""

Way = Callable[[Instance], float]


def _planned(partition: Callable[[FloatArray, FloatArray], Owners]) -> Way:
    def play(found: Instance) -> float:
        owners = partition(found.estimates, found.speeds)
        return makespan(owners, found.work, found.true_speeds)

    return play


def _circular(found: Instance) -> float:
    """Largest first, to the clients in their order."""
    order = longest_first(found.estimates)
    owners = circular(found.estimates, found.speeds)
    return makespan(owners, found.work[order], found.true_speeds)


def _pulled(
    order: Callable[[Instance], Sequence[int]],
    splitting: bool | None = None,
    *,
    twice: bool = False,
    fastest_first: bool = True,
) -> Way:
    """``splitting``: whether parts of one site may run at once; None: no parts."""

    def play(found: Instance) -> float:
        least = _LEAST_PART * float(found.estimates.sum())
        parts = None if splitting is None else SplitRule(least, splitting)
        pull = Pull(order(found), found.estimates, len(found.speeds), parts, twice=twice)
        asking = longest_first(found.speeds).tolist() if fastest_first else None
        return play_pull(pull, found.work, found.true_speeds, asking).makespan

    return play


def _large_first(found: Instance) -> list[int]:
    return [int(site) for site in longest_first(found.estimates)]


def _small_first(found: Instance) -> list[int]:
    return _large_first(found)[::-1]


RIVALS: dict[str, Way] = {
    "static circular": _planned(circular),
    "static circular, largest first": _circular,
    "pull, smallest first (RR2)": _pulled(_small_first, fastest_first=False),
    "pull, any order": _pulled(lambda found: found.random_order, fastest_first=False),
    "pull, largest first (RR1)": _pulled(_large_first, fastest_first=False),
    "paper, cyclic": _planned(pechnikov),
    "paper, share": _planned(lambda w, s: pechnikov(w, s, Remainder.SHARE)),
    "paper, earliest": _planned(lambda w, s: pechnikov(w, s, Remainder.EARLIEST)),
    "LPT": _planned(lpt),
    "MULTIFIT": _planned(multifit),
    "LPT + local search": _planned(lambda w, s: local_search(lpt(w, s), w, s)),
    BATCH: _planned(best_batch),
    PULL: _pulled(_large_first),
    "pull, last sites twice": _pulled(_large_first, twice=True),
    "pull, parts one by one": _pulled(_large_first, splitting=False),
    "pull, parts at once": _pulled(_large_first, splitting=True),
}
"""RR1 and RR2 serve the clients in their order at the start; ours serve the fastest first."""
