"""Bytes of each site since its last report, so that every byte is counted once."""

from __future__ import annotations

from headgate.crawling.progress import Progress

__all__ = ["Arrivals"]


class Arrivals:
    """For running sites; a site that has ended is forgotten with its last report."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int, int]] = {}
        """The visit, its restarts, and the bytes counted in it so far."""

    def fresh(self, report: Progress) -> int:
        """Wire bytes since the last report of the site. After a restart they count from its
        beginning: what it found stored was counted before, or in another leg."""
        # Called for thousands of sites, several times a second: so no further calls.
        came = report.wire_bytes + report.under_way_bytes - report.earlier_wire_bytes
        now = report.visit, report.restarts, came
        before = self._counted.get(report.site)
        if report.ended is not None:  # reported once; the site may come again
            self._counted.pop(report.site, None)
        elif now == before:
            return 0
        else:
            self._counted[report.site] = now
        if before is None or before[:2] != now[:2]:
            return came
        return max(came - before[2], 0)
