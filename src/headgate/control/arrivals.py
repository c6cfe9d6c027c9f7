"""What came of each site since it was last looked at: every byte once."""

from __future__ import annotations

from headgate.crawling.progress import Progress

__all__ = ["Arrivals"]


class Arrivals:
    """Of sites that run: one that has ended is forgotten with its last report."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int, int]] = {}
        """Which life of the site, and what had come in it up to the last look."""

    def fresh(self, report: Progress) -> int:
        """Bytes on the line since the last report of the site. A life counts from its own
        beginning: what it found stored came in another, or in another leg."""
        # Of thousands of sites, several times a second: what costs a call is written out.
        came = report.wire_bytes + report.under_way_bytes - report.earlier_wire_bytes
        now = report.visit, report.restarts, came
        before = self._counted.get(report.site)
        if report.ended is not None:  # told once; the site may come again, in another run even
            self._counted.pop(report.site, None)
        elif now == before:
            return 0
        else:
            self._counted[report.site] = now
        if before is None or before[:2] != now[:2]:
            return came
        return max(came - before[2], 0)
