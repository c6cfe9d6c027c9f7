"""When a running crawl saves its time and its report so far.

The time every second; the report where a site began or ended, and now and then, so seldom that
making it takes one part in a hundred of the time: for ten thousand sites it takes half a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from headgate.model.run_report import RunReport
from headgate.storage.run_state import SAVE_SECONDS, RunState

__all__ = ["ReportSaving"]

_SAVE_REPORT_SECONDS = 10.0
_MOST_SAVING = 0.01
"""Share of the time that may go into making reports to save."""


@dataclass(slots=True)
class ReportSaving:
    """Of one leg."""

    state: RunState
    make_report: Callable[[], RunReport]
    cpu: Callable[[], float]
    """Seconds that this process has used."""
    _saved: float = -math.inf
    _report_saved: float = -math.inf
    _report_cost: float = 0.0
    _events: int = 0
    """Sites' starts and ends that the report saved last tells of."""

    def look(self, now: float, events: int) -> bool:
        """Save what is due, ``events`` being the starts and ends of sites so far; whether anything
        was."""
        if now - self._saved < SAVE_SECONDS:
            return False
        self._saved = now
        wait = _SAVE_REPORT_SECONDS if events == self._events else 0.0
        due = now - self._report_saved >= max(wait, self._report_cost / _MOST_SAVING)
        report = self._report(now, events) if due else None
        self.state.save(now, report)
        return True

    def begin(self, now: float) -> None:
        """Before the first byte."""
        self.state.save(now, _under_way(self.make_report()))

    async def end(self, now: float) -> None:
        """The leg is over; saved when this returns."""
        await self.state.end(now, self.make_report())

    def _report(self, now: float, events: int) -> RunReport:
        before = self.cpu()
        report = _under_way(self.make_report())
        self._report_cost = self.cpu() - before
        self._report_saved, self._events = now, events
        return report


def _under_way(report: RunReport) -> RunReport:
    return msgspec.structs.replace(report, under_way=True)
