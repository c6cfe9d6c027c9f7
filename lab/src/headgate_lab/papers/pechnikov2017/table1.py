"""Table 1 as a model.

Batch job 2 with three clients is taken for work over speed, which sets the sum of all works; with
five it is bound by the largest site, which must be 32 % of them. The other 98 are the quantiles
of a power law (α 2.2). A scan takes pages × seconds per page, and the latter differ from site to
site (log-normal): batch job 1 and both round robins go by pages, batch job 2 by times. Who asks
first in a round robin is drawn by lot. Batches are read as "fill up to the share"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.features.grid.placement.batches import (
    FloatArray,
    Remainder,
    longest_first,
    makespan,
    pechnikov,
)
from headgate.features.grid.placement.pull import Pull
from headgate_lab.papers.pechnikov2017.instances import CLIENTS, SITES
from headgate_lab.papers.pechnikov2017.playing import play_pull

__all__ = ["PAPER_SECONDS", "TableRow", "largest_share", "modelled"]

PAPER_SECONDS = {
    (3, "RR1"): 12601.0,
    (3, "RR2"): 23103.0,
    (3, "Batch 1"): 13359.0,
    (3, "Batch 2"): 12239.0,
    (5, "RR1"): 10090.0,
    (5, "RR2"): 15524.0,
    (5, "Batch 1"): 12351.0,
    (5, "Batch 2"): 10071.0,
}
_ALPHA = 2.2
_PER_PAGE_SPREAD = 0.25
"""σ of the logarithm of seconds per page."""


@dataclass(frozen=True, slots=True)
class TableRow:
    clients: int
    experiment: str
    paper: float
    """Seconds."""
    ours: float
    """The mean of the draws."""
    least: float
    most: float


def largest_share() -> float:
    """Of the work, that of the largest site, by the two runs of batch job 2."""
    speeds = 1 / CLIENTS[3]
    work = PAPER_SECONDS[3, "Batch 2"] * float(speeds.sum())
    return float(PAPER_SECONDS[5, "Batch 2"] / CLIENTS[5].min() / work)


def _scan_work() -> FloatArray:
    """Works so that a client's seconds are work × its reference seconds."""
    whole = PAPER_SECONDS[3, "Batch 2"] * float((1 / CLIENTS[3]).sum())
    places = (np.arange(SITES - 1) + 0.5) / (SITES - 1)
    others = (1 - places) ** (-1 / (_ALPHA - 1))
    others *= whole * (1 - largest_share()) / others.sum()
    return np.append(others, whole * largest_share())


def modelled(draws: int, seed: int) -> list[TableRow]:
    times: dict[tuple[int, str], list[float]] = {key: [] for key in PAPER_SECONDS}
    work = _scan_work()
    for draw in range(draws):
        rng = np.random.default_rng((seed, draw))
        pages = work * np.exp(_PER_PAGE_SPREAD * rng.standard_normal(SITES))
        for clients, reference in CLIENTS.items():
            asking = rng.permutation(clients).tolist()
            for name, seconds in _run(work, pages, 1 / reference, asking).items():
                times[clients, name].append(seconds)
    return [
        TableRow(*key, PAPER_SECONDS[key], float(np.mean(found)), min(found), max(found))
        for key, found in times.items()
    ]


def _run(
    work: FloatArray, pages: FloatArray, speeds: FloatArray, asking: list[int]
) -> dict[str, float]:
    order = longest_first(pages).tolist()
    forwards, backwards = (Pull(sites, pages, len(speeds)) for sites in (order, order[::-1]))
    return {
        "RR1": play_pull(forwards, work, speeds, asking).makespan,
        "RR2": play_pull(backwards, work, speeds, asking).makespan,
        "Batch 1": makespan(pechnikov(pages, speeds, Remainder.SHARE), work, speeds),
        "Batch 2": makespan(pechnikov(work, speeds, Remainder.SHARE), work, speeds),
    }
