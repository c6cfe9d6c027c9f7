"""Decides when a running crawl saves its elapsed time and its report so far.

The time is saved every two seconds. The report is saved when a site begins or ends, and from time
to time while bytes arrive, but so rarely that making it takes at most 1 % of the time: for ten
thousand sites it takes half a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from headgate.model.run_report import RunReport
from headgate.storage.run_state import SAVE_SECONDS, RunState

__all__ = ["ReportSaving"]

_SAVE_REPORT_SECONDS = 10.0
_MOST_SAVING = 0.01
"""Share of the time that may go into making reports to save."""


class ReportSaving(msgspec.Struct):
    """The saving of one leg."""

    state: RunState
    make_report: Callable[[], RunReport]
    cpu: Callable[[], float]
    """CPU seconds that this process has used."""
    _saved: float = -math.inf
    _report_saved: float = -math.inf
    _report_cost: float = 0.0
    _told: tuple[int, int] = (0, 0)
    """Starts and ends of sites in the report saved last, and bytes that had arrived."""

    def look(self, now: float, events: int, came: int) -> None:
        """Save what is due. ``events`` counts starts and ends of sites, ``came`` bytes."""
        if now - self._saved < SAVE_SECONDS:
            return
        self._saved = now
        wait = _SAVE_REPORT_SECONDS if events == self._told[0] else 0.0
        rested = now - self._report_saved >= max(wait, self._report_cost / _MOST_SAVING)
        due = rested and self._told != (events, came)
        if due:
            self._told = events, came
        self.state.save(now, self._report(now) if due else None)

    def begin(self, now: float) -> None:
        """Before the first byte."""
        self.state.save(now, _under_way(self.make_report()))

    async def end(self, now: float) -> None:
        """The leg is over; saved when this returns."""
        await self.state.end(now, self.make_report())

    def _report(self, now: float) -> RunReport:
        before = self.cpu()
        report = _under_way(self.make_report())
        self._report_cost = self.cpu() - before
        self._report_saved = now
        return report


def _under_way(report: RunReport) -> RunReport:
    return msgspec.structs.replace(report, under_way=True)
