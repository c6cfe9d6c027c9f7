"""The paper's instances, as far as it prints them, and families that behave like the rest.

Six sites (sections 5.1, 5.2): sizes 1 : 1.3 : 1.6 : 1.9 : 2.2 : 2.5, 125,000 kbit together. The
deadlines are not printed. Ours are fitted so that Eq. 1 gives 950 (enough) or 1300 kbit/s (too
little) on a line of 1000 and the plots' axes come out; for any other tightness they are all
stretched by one factor.

Fifty sites, five crawlers (section 5.3): sizes are one of the six ratios times 11,905 kbit times
U(0.9, 1.1). Deadlines, none of which the paper prints, for a line that is critical at 530 kbit/s:

    P  the end of the site's round, were the sites crawled five by five at 530, times U(0.9, 1.1)
    Q  U(0.1, 1) times the time that all bytes take at 530
    R  U(0.02, 0.6) times the same: most must be late

Caps are a random share of the bandwidth; they leave sizes and deadlines as they are. With caps many
deadlines cannot be met by anybody, so there are instances whose deadlines are all later, by 1.15
where caps are mild and by 1.35 where they are hard.
"""

from __future__ import annotations

import numpy as np

from headgate.scheduling.allocation import required_rate
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.problem import Problem

__all__ = [
    "CAP_SHARES",
    "CRITICAL_KBIT",
    "FAMILIES",
    "KBIT",
    "LATER",
    "fifty_sites",
    "six_sites",
]

KBIT = 125.0
"""Bytes in a kbit."""
SIZE_RATIOS = np.array([1.0, 1.3, 1.6, 1.9, 2.2, 2.5])
SIX_SITES_KBIT = 125_000.0
_DEADLINES_AT_950 = np.array([152.88, 252.00, 89.49, 70.63, 214.84, 191.12])
_DEADLINES_AT_1300 = np.array([120.5, 51.3, 115.0, 271.9, 64.9, 120.4])

FAMILIES = ("P", "Q", "R")
CAP_SHARES: dict[str, tuple[float, ...] | None] = {
    "no caps": None,
    "caps .15-.7": (0.15, 0.25, 0.4, 0.7),
    "caps .1-.3": (0.1, 0.2, 0.3),
    "caps .15-.7, × 1.15": (0.15, 0.25, 0.4, 0.7),
    "caps .1-.3, × 1.35": (0.1, 0.2, 0.3),
}
LATER = {"caps .15-.7, × 1.15": 1.15, "caps .1-.3, × 1.35": 1.35}
"""What all deadlines are multiplied by."""
SITES = 50
CRAWLERS = 5
CRITICAL_KBIT = 530.0
_UNIT_SIZE_KBIT = 11_905.0


def six_sites(
    *,
    tightness: float = 950.0,
    bandwidth: float = 1000.0,
    total: float = SIX_SITES_KBIT,
    sufficient: bool = True,
) -> Problem:
    """The six sites at a bandwidth in kbit/s; ``tightness`` is Eq. 1 for the full 125,000 kbit.

    >>> problem = six_sites(tightness=960.0)
    >>> round(required_rate(problem.work, problem.deadlines) / KBIT, 9)
    960.0
    """
    shares = SIZE_RATIOS / SIZE_RATIOS.sum()
    fitted = _DEADLINES_AT_950 if sufficient else _DEADLINES_AT_1300
    deadlines = fitted * required_rate(SIX_SITES_KBIT * shares, fitted) / tightness
    return Problem.from_arrays(total * KBIT * shares, deadlines, budget=bandwidth * KBIT)


def fifty_sites(
    family: str, caps: str, bandwidth: float, *, seed: int, instance: int = 0
) -> Problem:
    """An instance at a bandwidth in kbit/s; sizes and deadlines don't depend on the bandwidth.

    >>> problem = fifty_sites("P", "no caps", 530.0, seed=1)
    >>> len(problem), problem.slots, problem.capped
    (50, 5, False)
    """
    rng = np.random.default_rng([seed, instance])
    work = rng.choice(SIZE_RATIOS, SITES) * _UNIT_SIZE_KBIT * KBIT * rng.uniform(0.9, 1.1, SITES)
    deadlines = _deadlines(family, work, rng) * LATER.get(caps, 1.0)
    shares = CAP_SHARES[caps]
    return Problem.from_arrays(
        work,
        deadlines,
        budget=bandwidth * KBIT,
        caps=None if shares is None else bandwidth * KBIT * rng.choice(shares, SITES),
        slots=CRAWLERS,
    )


def _deadlines(family: str, work: FloatArray, rng: np.random.Generator) -> FloatArray:
    if family == "P":
        rounds = work.reshape(-1, CRAWLERS).sum(axis=1)
        round_ends = np.cumsum(rounds) / (CRITICAL_KBIT * KBIT)
        return np.repeat(round_ends, CRAWLERS) * rng.uniform(0.9, 1.1, SITES)
    all_bytes_take = float(work.sum()) / (CRITICAL_KBIT * KBIT)
    earliest, latest = {"Q": (0.1, 1.0), "R": (0.02, 0.6)}[family]
    return rng.uniform(earliest, latest, SITES) * all_bytes_take
