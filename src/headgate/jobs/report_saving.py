"""Decides when a running crawl saves its elapsed time and its report so far.

The time is saved every two seconds. The report is saved when a site begins or ends, and from time
to time while bytes arrive, but so rarely that making it takes at most 1 % of the time: for ten
thousand sites it takes a tenth of a second, for a hundred thousand one second. Nodes wait for a
manager meanwhile, so it makes its report in pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from headgate.control.run_report import ReportMaking
from headgate.crawling.pieces import Pieces, at_one_go, metered
from headgate.model.run_report import RunReport
from headgate.storage.run_state import SAVE_SECONDS, RunState, encoded_report

__all__ = ["ReportSaving"]

_SAVE_REPORT_SECONDS = 10.0
_MOST_SAVING = 0.01
"""Share of the time that may go into making reports to save."""


class ReportSaving(msgspec.Struct):
    """The saving of one leg."""

    state: RunState
    make_report: Callable[[], ReportMaking]
    cpu: Callable[[], float]
    """CPU seconds that this process has used."""
    _saved: float = -math.inf
    _report_saved: float = -math.inf
    _report_cost: float = 0.0
    _told: tuple[int, int] = (0, 0)
    """Starts and ends of sites in the report saved last, and bytes that had arrived."""

    def look(self, now: float, events: int, came: int) -> None:
        """Save what is due. ``events`` counts starts and ends of sites, ``came`` bytes."""
        at_one_go(self.looking(now, events, came))

    def looking(self, now: float, events: int, came: int) -> Pieces[None]:
        """The same in pieces, between which nothing may change that the report is made of."""
        if now - self._saved < SAVE_SECONDS:
            return
        self._saved = now
        self.state.save(now)
        wait = _SAVE_REPORT_SECONDS if events == self._told[0] else 0.0
        rested = now - self._report_saved >= max(wait, self._report_cost / _MOST_SAVING)
        if rested and self._told != (events, came):
            self._told = events, came
            report = yield from self._report(now)
            self.state.save(now, report)

    def begin(self, now: float) -> None:
        """Before the first byte. This report is the first that costs time."""
        self.state.save(now, at_one_go(self._report(now)))

    async def end(self, now: float) -> None:
        """The leg is over; saved when this returns. Made in one go: this report is the one that
        counts, and nothing may come between."""
        await self.state.end(now, at_one_go(self._encoded(under_way=False)))

    def _report(self, now: float) -> Pieces[bytearray]:
        self._report_saved, self._report_cost = now, 0.0
        return (yield from metered(self._encoded(under_way=True), self.cpu, self._spend))

    def _encoded(self, *, under_way: bool) -> Pieces[bytearray]:
        making = self.make_report()

        def rest() -> RunReport:
            return msgspec.structs.replace(making.rest(), under_way=under_way)

        return encoded_report(making.some_sites(), rest)

    def _spend(self, seconds: float) -> None:
        self._report_cost += seconds
