"""What came of each site since it was last looked at: every byte once."""

from __future__ import annotations

from headgate.crawling.progress import Progress

__all__ = ["Arrivals"]


class Arrivals:
    """Of sites that run: one that has ended is forgotten with its last report."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[tuple[int, int], int]] = {}
        """Which life of the site, and what had come in it up to the last look."""

    def fresh(self, report: Progress) -> int:
        """Bytes on the line since the last report of the site. A life counts from its own
        beginning: what it found stored came in another, or in another leg."""
        came = report.arrived_bytes - report.earlier_wire_bytes
        life, counted = self._counted.get(report.site, (report.life, 0))
        if report.ended is None:
            self._counted[report.site] = (report.life, came)
        else:  # told once; the site may come again, in another run even
            self._counted.pop(report.site, None)
        return max(came - counted, 0) if life == report.life else came
