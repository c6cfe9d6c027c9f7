"""All sites dealt to machines beforehand: partitions, bounds, and the heuristics that make them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "FloatArray",
    "Owners",
    "Remainder",
    "ScanCost",
    "as_floats",
    "best_batch",
    "circular",
    "loads",
    "local_search",
    "longest_first",
    "lower_bound",
    "lpt",
    "makespan",
    "multifit",
    "pechnikov",
    "reference_speeds",
    "scan_seconds",
]


# A partition of sites over machines, how long it takes, and how long any must take.
#
# The bound is that of machines that may share a site: all work on all of them, and for each k < m
# the k longest sites on the k fastest, since a site is on one machine at a time:
#
#     max( Σp / Σs,  max_{k<m} Σ_{i≤k} p_(i) / Σ_{j≤k} s_(j) ),   both in falling order


FloatArray: TypeAlias = npt.NDArray[np.float64]
Owners: TypeAlias = npt.NDArray[np.int_]
"""The machine of each site."""
ENOUGH = 1 + 1e-6
"""Times the bound: a partition that close is good enough."""


def as_floats(values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def longest_first(work: FloatArray) -> Owners:
    """Numbers of the sites; equal ones in their order."""
    return np.argsort(-work, kind="stable")


def loads(owners: Owners, work: FloatArray, speeds: FloatArray) -> FloatArray:
    """Seconds that each machine takes for its sites."""
    return as_floats(np.bincount(owners, work, minlength=len(speeds)) / speeds)


def makespan(owners: Owners, work: FloatArray, speeds: FloatArray) -> float:
    """Seconds until the last machine is done.

    >>> makespan(np.array([0, 1, 1]), as_floats([6, 2, 2]), as_floats([2, 1]))
    4.0
    """
    return float(loads(owners, work, speeds).max())


def lower_bound(work: FloatArray, speeds: FloatArray) -> float:
    """No partition takes fewer seconds.

    >>> lower_bound(as_floats([6, 1, 1]), as_floats([1, 1]))
    6.0
    """
    longest, fastest = np.sort(work)[::-1], np.sort(speeds)[::-1]
    few = min(len(work), len(speeds) - 1)
    bounds = np.cumsum(longest)[:few] / np.cumsum(fastest)[:few]
    return float(max(work.sum() / speeds.sum(), bounds.max(initial=0.0)))


def lpt(work: FloatArray, speeds: FloatArray) -> Owners:
    """LPT, longest processing time first, on machines of unequal speed: each site, the longest
    first, goes where it would end first.

    At most 2m/(m + 1) times the optimum (Gonzalez, Ibarra and Sahni 1977), and 5/3 for any m; on
    equal machines 4/3 − 1/(3m) (Graham 1969). O(n · m).

    >>> lpt(np.array([3.0, 3.0, 2.0]), np.array([1.0, 2.0])).tolist()
    [1, 0, 1]
    """
    owners = np.zeros(len(work), dtype=np.int_)
    ends = np.zeros(len(speeds))
    for site in longest_first(work):
        would_end = ends + work[site] / speeds
        machine = int(np.argmin(would_end))
        owners[site], ends[machine] = machine, would_end[machine]
    return owners


_STEPS = 30
_ROUNDING = 1 + 1e-12


def multifit(work: FloatArray, speeds: FloatArray) -> Owners:
    """MULTIFIT on machines of unequal speed (Friesen and Langston 1983): at most 1.4 times the
    optimum, 1.382 by Chen (1991).

    The makespan c is searched by halving. For each, the sites go, the longest first, to the first
    machine that has room for them within c · speed, the slowest machine first: a slow one takes
    what it can, so that the fast ones keep room for what only they can take. O(n · m) a step.

    >>> multifit(np.array([3.0, 3.0, 2.0, 2.0, 2.0]), np.array([1.0, 1.0])).tolist()
    [0, 0, 1, 1, 1]
    """
    found = lpt(work, speeds)
    low, high = lower_bound(work, speeds), makespan(found, work, speeds)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        fitted = _first_fit(work, speeds, middle)
        if fitted is None:
            low = middle
        else:
            found, high = fitted, min(middle, makespan(fitted, work, speeds))
        if high <= low * ENOUGH:
            break
    return found


def _first_fit(work: FloatArray, speeds: FloatArray, end: float) -> Owners | None:
    slowest_first = np.argsort(speeds, kind="stable")
    room = end * speeds[slowest_first] * _ROUNDING
    owners = np.zeros(len(work), dtype=np.int_)
    for site in longest_first(work):
        place = int(np.argmax(room >= work[site]))
        if work[site] > room[place]:
            return None
        owners[site] = slowest_first[place]
        room[place] -= work[site]
    return owners


_MOST_STEPS = 10_000
_GAIN = 1e-12
"""Relative: less is rounding."""


def local_search(owners: Owners, work: FloatArray, speeds: FloatArray) -> Owners:
    """Local search: as long as it helps, the best move or swap away from the machine that ends
    last.

    A site of the last machine goes to another, or changes places with one of another's; of all such
    steps the one is taken after which the later of the two machines ends first. Ends at a partition
    that no single step betters, or that is as good as any.

    With another machine there is an amount of work that, given away, would make both end at the
    same time. The best step gives nearly that; so for each site only the two that may come back are
    looked at whose difference to it is next to that amount. O(n log n) a step.

    A partition that ends no later.

    >>> local_search(np.array([0, 0, 1, 1]), np.array([4.0, 3, 2, 1]), np.ones(2)).tolist()
    [0, 1, 1, 0]
    """
    order = np.argsort(work, kind="stable")
    found, work_there = owners[order], work[order]
    good = lower_bound(work, speeds) * ENOUGH
    for _ in range(_MOST_STEPS):
        if not _step(found, work_there, speeds, good):
            break
    owners = owners.copy()
    owners[order] = found
    return owners


def _step(owners: Owners, work: FloatArray, speeds: FloatArray, good: float) -> bool:
    """Whether the last machine of those that end now ends sooner. ``work`` is in rising order."""
    ends = loads(owners, work, speeds)
    last = int(np.argmax(ends))
    if ends[last] <= good or len(speeds) == 1:
        return False
    pairs = (
        _best_with(machine, last, owners=owners, work=work, speeds=speeds, ends=ends)
        for machine in range(len(ends))
    )
    end, site, back, machine = min(pair for pair in pairs if pair is not None)
    if end >= ends[last] * (1 - _GAIN):
        return False
    owners[site] = machine
    if back >= 0:
        owners[back] = last
    return True


def _best_with(
    machine: int, last: int, owners: Owners, work: FloatArray, speeds: FloatArray, ends: FloatArray
) -> tuple[float, int, int, int] | None:
    """When the later of the two would end, the site that goes, the one that comes back (-1: none),
    and the machine."""
    if machine == last:
        return None
    own, theirs = np.flatnonzero(owners == last), np.flatnonzero(owners == machine)
    back = np.concatenate(([0.0], work[theirs]))
    even = (ends[last] - ends[machine]) / (1 / speeds[last] + 1 / speeds[machine])
    above = np.searchsorted(back, work[own] - even)
    partner = np.concatenate((above - 1, above)).clip(0, len(theirs))
    given = np.tile(work[own], 2) - back[partner]
    later = np.maximum(ends[last] - given / speeds[last], ends[machine] + given / speeds[machine])
    best = int(np.argmin(later))
    comes = int(theirs[partner[best] - 1]) if partner[best] else -1
    return float(later[best]), int(own[best % len(own)]), comes, machine


def best_batch(work: FloatArray, speeds: FloatArray) -> Owners:
    """The partition of Headgate's batch mode: the better of LPT and MULTIFIT, bettered by local
    search.

    Within a thousandth of the bound on sizes by a power law, where nothing is left to gain.
    Machines that have no contact during the run need it; all others do better with a pull (`pull`),
    which does not depend on the estimates.
    """
    starts = (lpt(work, speeds), multifit(work, speeds))
    searched = [local_search(start, work, speeds) for start in starts]
    return min(searched, key=lambda owners: makespan(owners, work, speeds))


def circular(work: FloatArray, speeds: FloatArray) -> Owners:
    """Round robin dealt beforehand: the sites in their order, one to each machine, and again.

    What the words say; BeeBot-EDG's "round robin" is a pull (`pull`): a circular deal of 99 sites
    to three machines is the same forwards and backwards, and its two orders took 3:30 and 6:25
    hours.

    >>> circular(np.ones(5), np.ones(2)).tolist()
    [0, 1, 0, 1, 0]
    """
    return np.arange(len(work)) % len(speeds)


@dataclass(frozen=True, slots=True)
class ScanCost:
    """How long a machine takes for a site, and how fast a machine is.

    The paper's sum over a site's pages, put right twice. Bytes take P/v_web + P/v = P·(1/v_web +
    1/v) seconds, where the paper prints P·1/(1/v_web + 1/v), which multiplies by the speed. And
    what it drops as small, 0.2 to 0.3 s for name, connection and answer, is taken once per
    **request**, not once per site: of a thousand pages that is 200 to 300 s, all of the time that
    it measured for one. So, for N pages and P bytes,

        seconds = N · max(delay, rtt + ttfb) + P · (1/v_web + 1/v_machine)

    and the first term dominates: measured times (batch job 2) say more than sizes (batch job 1).

    A machine's speed is that of a **reference site** which all machines scan: only ratios count.

    A site as one machine meets it.
    """

    pages: float
    size_bytes: float
    answer_seconds: float
    """From asking to the first byte: round trip and the server's own time."""
    web_bytes_per_second: float
    delay_seconds: float = 0.0
    """Between two requests, as politeness asks."""


def scan_seconds(site: ScanCost, machine_bytes_per_second: float) -> float:
    """
    >>> site = ScanCost(1000, 20e6, answer_seconds=0.25, web_bytes_per_second=2e6)
    >>> scan_seconds(site, machine_bytes_per_second=10e6)
    262.0
    """
    requests = site.pages * max(site.delay_seconds, site.answer_seconds)
    per_byte = 1 / site.web_bytes_per_second + 1 / machine_bytes_per_second
    return requests + site.size_bytes * per_byte


def reference_speeds(reference_seconds: FloatArray) -> FloatArray:
    """Of machines by their times for the reference site; 1 in the mean.

    >>> import numpy as np
    >>> reference_speeds(np.array([100.0, 50.0])).round(3).tolist()
    [0.667, 1.333]
    """
    speeds = 1 / reference_seconds
    relative: FloatArray = speeds / speeds.mean()
    return relative


class Remainder(StrEnum):
    """The batches of BeeBot-EDG (Pechnikov, Chernobrovkin and Nwohiri 2017), a list per client.

    1. sites by size, clients by performance, both in falling order; 2. the sum of the sizes; 3.
    each client's share of it by performance; 4. the clients in turn take the next largest site as
    long as they stay within their share: the first that exceeds it goes back, and the client stops;
    5. what remains supplements the batches "in the reverse order, from the smallest to the
    largest".

    Batch job 1 takes pages for the size, batch job 2 the mean of earlier scan times. Step 5 can be
    read in three ways (`Remainder`); the first is the literal one. Where the largest site exceeds
    every share no client takes any in step 4, and step 5 deals all of them.

    Which machine gets what remains, smallest first.
    """

    CYCLIC = "cyclic"
    """One each, the slowest client first, and again."""
    SHARE = "share"
    """Each client in turn, the slowest first, as long as it stays within its share; the last, which
    is the fastest, takes what is left."""
    EARLIEST = "earliest"
    """The client that would end first with it."""


def pechnikov(
    sizes: FloatArray, speeds: FloatArray, remainder: Remainder = Remainder.CYCLIC
) -> Owners:
    """
    >>> pechnikov(np.array([5.0, 3.0, 3.0, 1.0]), np.array([1.0, 1.0])).tolist()
    [0, 1, 1, 1]
    """
    clients = [int(client) for client in longest_first(speeds)]
    batches = _Batches(sizes, sizes.sum() * speeds / speeds.sum() * _ROUNDING)
    for client in clients:
        batches.fill(client)
    batches.waiting.reverse()
    clients.reverse()
    if remainder is Remainder.SHARE:
        for client in clients[:-1]:
            batches.fill(client)
    for place, site in enumerate(batches.waiting):
        match remainder:
            case Remainder.CYCLIC:
                client = clients[place % len(clients)]
            case Remainder.SHARE:
                client = clients[-1]
            case Remainder.EARLIEST:
                client = int(np.argmin((batches.taken + sizes[site]) / speeds))
        batches.give(site, client)
    return batches.owners


class _Batches:
    def __init__(self, sizes: FloatArray, shares: FloatArray) -> None:
        self._sizes, self._shares = sizes, shares
        self.owners = np.zeros(len(sizes), dtype=np.int_)
        self.taken = np.zeros(len(shares))
        self.waiting = [int(site) for site in longest_first(sizes)]

    def give(self, site: int, client: int) -> None:
        self.owners[site] = client
        self.taken[client] += self._sizes[site]

    def fill(self, client: int) -> None:
        """The first of those waiting that exceeds the share ends it."""
        taken = 0
        for site in self.waiting:
            if self.taken[client] + self._sizes[site] > self._shares[client]:
                break
            self.give(site, client)
            taken += 1
        del self.waiting[:taken]
