"""Pull: a machine that is free asks, and gets the next part of the work.

Whatever the estimates are, no machine idles while work waits, so the end comes at most the longest
part later than with all work spread evenly: Σp/Σs + p_max/s. A partition made before errs with the
sum of its estimates' errors. In the order of falling estimates (`longest_first`) what comes last is
short; small sites first is the worst (the paper's RR2).

**Splitting** makes the longest part short: a part is at most 1/(3m) of all that waits (guided
self-scheduling, Polychronopoulos and Kuck 1987), and no shorter than ``least``. Parts of one site
run one after another unless the site allows several machines at once.

**Twice**: when nothing waits, a machine that asks gets the longest part that runs on one machine
only; the first whole result counts, the other machine stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.features.grid.placement.batches import FloatArray

__all__ = ["Part", "Pull", "SplitRule", "guided_part"]

_PARTS_EACH = 3
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a site's work; all of it, unless sites are split."""

    number: int
    site: int
    share: float


@dataclass(frozen=True, slots=True)
class SplitRule:
    least: float
    """Work: no part is shorter, but for what is left of a site."""
    at_once: bool = False
    """Whether several machines may work at one site."""


def guided_part(waiting: float, machines: int, least: float) -> float:
    """Work of the next part.

    >>> guided_part(900.0, machines=5, least=10.0)
    60.0
    """
    return max(least, waiting / (_PARTS_EACH * machines))


class Pull:
    """Which part is next. ``order`` has the numbers of the sites, ``estimates`` their works."""

    def __init__(
        self,
        order: Sequence[int],
        estimates: FloatArray,
        machines: int,
        splitting: SplitRule | None = None,
        *,
        twice: bool = False,
    ) -> None:
        self._order = list(order)
        self._estimates, self._machines = estimates, machines
        self._splitting, self._twice = splitting, twice
        self._left = dict.fromkeys(self._order, 1.0)
        """Shares of sites not given out; without an entry: none."""
        self._waiting = float(sum(estimates[site] for site in self._order))
        self._holders: dict[Part, int] = {}
        """Parts that run, and on how many machines."""
        self._given = 0

    def next_part(self) -> Part | None:
        """For a machine that asks; None: there is nothing for it now."""
        site = self._next_site()
        if site is None:
            return self._second_copy()
        share = self._left[site]
        if self._splitting is not None and self._estimates[site] > 0:
            most = guided_part(self._waiting, self._machines, self._splitting.least)
            share = min(share, most / float(self._estimates[site]))
        self._take(site, share)
        self._given += 1
        part = Part(self._given, site, share)
        self._holders[part] = 1
        return part

    def ended(self, part: Part) -> bool:
        """Whether this is the first result of the part."""
        return self._holders.pop(part, 0) > 0

    def _next_site(self) -> int | None:
        if self._splitting is None or self._splitting.at_once:
            return self._order[0] if self._order else None
        busy = {part.site for part in self._holders}
        return next((site for site in self._order if site not in busy), None)

    def _take(self, site: int, share: float) -> None:
        self._waiting -= share * float(self._estimates[site])
        self._left[site] -= share
        if self._left[site] <= _ROUNDING:
            del self._left[site]
            self._order.remove(site)

    def _second_copy(self) -> Part | None:
        alone = [part for part, holders in self._holders.items() if holders == 1]
        if not self._twice or self._order or not alone:
            return None
        part = max(alone, key=lambda part: part.share * float(self._estimates[part.site]))
        self._holders[part] += 1
        return part
