"""Which waiting site is served next.

Among the sites without debt, the one that was served the least relative to its rate comes first:
bytes over rate are seconds, and those are compared. A site that comes back after a pause may catch
up on at most `_CATCH_UP_SECONDS`: servers answer irregularly, and a site at its bound could not
reach its rate otherwise. (Start-time fair queueing, Goyal, Vin and Cheng 1996: a round robin that
is fair whatever the size of a turn.) Sites in debt wait for their moment in a second heap.

An entry of either heap is current if it has its site's last stamp; stale ones are dropped at the
top.
"""

from __future__ import annotations

import heapq
import math

__all__ = ["FairQueue"]

_Entry = tuple[float, int, str]
_CATCH_UP_SECONDS = 0.25


class FairQueue:
    """``_may_pay`` holds (seconds served, stamp, site), ``_in_debt`` (time free of debt, …)."""

    __slots__ = ("_in_debt", "_last_stamp", "_may_pay", "_served", "_service", "_stamps")

    def __init__(self) -> None:
        self._may_pay: list[_Entry] = []
        self._in_debt: list[_Entry] = []
        self._stamps: dict[str, int] = {}
        """Waiting sites with their last stamps."""
        self._served: dict[str, float] = {}
        self._last_stamp = 0
        self._service = 0.0
        """Virtual time: seconds served of the site that was last."""

    def wait(self, site: str, free_of_debt: float, now: float) -> None:
        """The site waits, or continues to wait with another debt."""
        self._last_stamp += 1
        self._stamps[site] = self._last_stamp
        if free_of_debt <= now:
            served = self._served.get(site, self._service)
            served = self._served[site] = max(served, self._service - _CATCH_UP_SECONDS)
            heapq.heappush(self._may_pay, (served, self._last_stamp, site))
        elif free_of_debt < math.inf:
            heapq.heappush(self._in_debt, (free_of_debt, self._last_stamp, site))

    def leave(self, site: str) -> None:
        """The site no longer waits."""
        self._stamps.pop(site, None)

    def forget(self, site: str) -> None:
        self.leave(site)
        self._served.pop(site, None)

    def rescale(self, site: str, factor: float) -> None:
        """The site's rate has changed: its lead in bytes is ``factor`` times as many seconds.

        If it were forgotten, every change of rate would favour the site over the others."""
        if site in self._served:
            ahead = self._served[site] - self._service
            self._served[site] = self._service + factor * ahead

    def first(self, now: float) -> str | None:
        """The site whose turn it is."""
        while (entry := self._current(self._in_debt)) and entry[0] <= now:
            heapq.heappop(self._in_debt)
            self.wait(entry[2], entry[0], now)
        entry = self._current(self._may_pay)
        return None if entry is None else entry[2]

    def serve(self, site: str, seconds: float) -> None:
        """The site was served, for so many seconds of its rate; it no longer waits."""
        served = self._served[site]
        self._service = max(self._service, served)
        self._served[site] = served + seconds
        self.leave(site)

    @property
    def anybody(self) -> bool:
        """Whether any site waits."""
        return bool(self._stamps)

    def serve_at_once(self, site: str, seconds: float) -> None:
        """`wait` and `serve` in one, for a site without debt when no other waits."""
        served = max(self._served.get(site, self._service), self._service - _CATCH_UP_SECONDS)
        self._service = max(self._service, served)
        self._served[site] = served + seconds

    def settle(self, site: str, seconds: float) -> None:
        """The site returned so many seconds of what it was served, or took more if negative."""
        if site in self._served:
            self._served[site] -= seconds

    def moment(self) -> float:
        """When a site can be served; infinite: none waits, or debts never end."""
        if self._current(self._may_pay):
            return -math.inf
        entry = self._current(self._in_debt)
        return math.inf if entry is None else entry[0]

    def _current(self, heap: list[_Entry]) -> _Entry | None:
        while heap and self._stamps.get(heap[0][2]) != heap[0][1]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def check(self) -> None:
        stamps = [entry[1] for entry in (*self._may_pay, *self._in_debt)]
        assert len(set(stamps)) == len(stamps)
        assert all(stamp <= self._last_stamp for stamp in stamps)
