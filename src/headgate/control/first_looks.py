"""A first look at sites of unknown size or speed: early, for a moment, then back to the plan.

A look is the beginning of the site's own crawl: what it fetches is stored like every other page, so
nothing is fetched twice. It is over when it has brought `SiteWatch.look_bytes`, not before a second
is over, and after `_LONGEST_SECONDS` in any case; by then links and sizes say more than any guess,
and a server that does not use its part of the line has shown how slow it is. So that the part is
large enough for that, only two sites are looked at at once, in order of their deadlines; those that
stop at theirs come last, for they cannot be late, and what they take makes others so. All looks
together take no more than a fifth of the time to the first of the deadlines that wait for them.
Meanwhile sites that were looked at share the rest of the line, the most urgent first.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headgate.crawling.progress import Progress

__all__ = ["FirstLooks", "beside_looks"]

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.9, 3.0
_AT_ONCE = 2
_PART_OF_TIME = 0.2
"""Of the time to the first deadline among those not yet looked at."""
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Unknown:
    site: str
    deadline: float
    stops: bool
    latest: float
    """When looks are to be over, as far as this one's deadline goes."""


@dataclass(slots=True)
class FirstLooks:
    """Every unknown site is in ``_waiting`` or ``under_way`` until its look is over."""

    _waiting: list[_Unknown] = field(default_factory=list)
    """In order of deadline; those that stop there at the end."""
    under_way: dict[str, float] = field(default_factory=dict)
    """When each began."""

    @property
    def over(self) -> bool:
        return not self._waiting and not self.under_way

    def want(self, site: str, arrived: float, deadline: float, *, stops: bool) -> None:
        """A site arrived that nobody knows; ``stops``: it ends at its deadline."""
        latest = arrived + max(_PART_OF_TIME * (deadline - arrived), _LEAST_SECONDS)
        unknown = _Unknown(site, deadline, stops, latest)
        insort(self._waiting, unknown, key=lambda other: (other.stops, other.deadline))

    def begin(self, crawlers: int, now: float) -> None:
        """Look at the next sites besides those under way, as far as there are crawlers for it."""
        at_once = min(crawlers, _AT_ONCE)
        while self._waiting and len(self.under_way) < at_once and self._time_left(now):
            self.under_way[self._waiting.pop(0).site] = now

    def look(self, report: Progress, now: float, enough: float) -> bool:
        """Whether a site was looked at for long enough: ``enough`` bytes, or seconds."""
        began = self.under_way.get(report.site)
        if began is None:
            return False
        seconds = now - began
        if seconds >= _LONGEST_SECONDS:
            return True
        return report.arrived_bytes >= enough and seconds >= _SHORTEST_SECONDS

    def end(self, site: str) -> None:
        """Its look is over, or it has ended without one."""
        if self.under_way.pop(site, None) is None:
            self._waiting = [unknown for unknown in self._waiting if unknown.site != site]

    def skip(self) -> list[str]:
        """The sites that nobody has time to look at."""
        skipped, self._waiting = [unknown.site for unknown in self._waiting], []
        return skipped

    def _time_left(self, now: float) -> bool:
        return now <= min(unknown.latest for unknown in self._waiting)


def beside_looks(
    rates: Mapping[str, float], idle: Collection[str], total: float
) -> dict[str, float]:
    """What is left of the rates of sites, in order of priority, where looks leave them ``total``.
    Idle ones ask for nothing at the moment and take it from nobody.

    >>> beside_looks({"slow": 20.0, "wakes": 50.0, "fast": 80.0}, ["wakes"], 50.0)
    {'slow': 20.0, 'wakes': 30.0, 'fast': 30.0}
    """
    kept = {}
    for site, rate in rates.items():
        kept[site] = min(rate, total)
        total -= 0.0 if site in idle else kept[site]
    return kept
