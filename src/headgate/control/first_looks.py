"""First looks at sites of unknown size or speed: early and short, before they join the plan.

A look is the beginning of the site's own crawl: its pages are stored like all others, so nothing is
fetched twice. It ends after `SiteWatch.look_bytes`, but not within the first second, and after
`_LONGEST_SECONDS` in any case. By then links and sizes say more than any guess, and a server that
does not use its share of the line has shown how slow it is. To make that share large enough, only
two sites are looked at at once, in order of deadline; sites that stop at their deadline come last,
since they cannot be late. All looks together take at most a fifth of the time to the first deadline
that depends on them. Meanwhile the other sites share the rest of the line, the most urgent first.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping

import msgspec

from headgate.crawling.progress import Progress

__all__ = ["FirstLooks", "beside_looks"]

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.9, 3.0
_AT_ONCE = 2
_PART_OF_TIME = 0.2
"""Of the time to the first deadline of a site that waits for its look."""
_LEAST_SECONDS = 1.0


class _Unknown(msgspec.Struct, frozen=True):
    site: str
    deadline: float
    stops: bool
    latest: float
    """When looks must be over for the sake of this site's deadline."""


class FirstLooks(msgspec.Struct):
    """Every unknown site is in ``_waiting`` or in ``under_way`` until its look is over."""

    _waiting: list[_Unknown] = msgspec.field(default_factory=list)
    """In order of deadline, after all others those that stop at theirs."""
    under_way: dict[str, float] = msgspec.field(default_factory=dict)
    """When each began."""

    @property
    def over(self) -> bool:
        return not self._waiting and not self.under_way

    def want(self, site: str, arrived: float, deadline: float, *, stops: bool) -> None:
        """Add an unknown site; ``stops``: it is stopped at its deadline."""
        latest = arrived + max(_PART_OF_TIME * (deadline - arrived), _LEAST_SECONDS)
        unknown = _Unknown(site, deadline, stops, latest)
        insort(self._waiting, unknown, key=lambda other: (other.stops, other.deadline))

    def begin(self, crawlers: int, now: float) -> None:
        """Start the next looks, as far as there are free crawlers."""
        at_once = min(crawlers, _AT_ONCE)
        while self._waiting and len(self.under_way) < at_once and self._time_left(now):
            self.under_way[self._waiting.pop(0).site] = now

    def look(self, report: Progress, now: float, enough: float) -> bool:
        """Whether a site's look is over, after ``enough`` bytes or some seconds."""
        began = self.under_way.get(report.site)
        if began is None:
            return False
        seconds = now - began
        if seconds >= _LONGEST_SECONDS:
            return True
        return report.arrived_bytes >= enough and seconds >= _SHORTEST_SECONDS

    def end(self, site: str) -> None:
        """The look is over, or the site ended without one."""
        if self.under_way.pop(site, None) is None:
            self._waiting = [unknown for unknown in self._waiting if unknown.site != site]

    def skip(self) -> list[str]:
        """Give up the remaining looks, for lack of time; returns their sites."""
        skipped, self._waiting = [unknown.site for unknown in self._waiting], []
        return skipped

    def _time_left(self, now: float) -> bool:
        return now <= min(unknown.latest for unknown in self._waiting)


def beside_looks(
    rates: Mapping[str, float], idle: Collection[str], total: float
) -> dict[str, float]:
    """The rates of sites, in order of priority, cut to the ``total`` that looks leave them. Idle
    sites request nothing at the moment, so theirs do not count.

    >>> beside_looks({"slow": 20.0, "wakes": 50.0, "fast": 80.0}, ["wakes"], 50.0)
    {'slow': 20.0, 'wakes': 30.0, 'fast': 30.0}
    """
    kept = {}
    for site, rate in rates.items():
        kept[site] = min(rate, total)
        total -= 0.0 if site in idle else kept[site]
    return kept
