"""Who looks on while something runs: a terminal, a log, a user's callbacks, a test."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from headgate.control.forecast import Forecast
    from headgate.model.budget import QuotaUse
    from headgate.model.plan import Plan
    from headgate.model.run_report import RunReport

__all__ = ["Watcher"]

_log = logging.getLogger("headgate")

Running = TypeVar("Running", contravariant=True)
Seen = TypeVar("Seen", contravariant=True)


class Watcher(Generic[Running, Seen]):
    """Does nothing but log what it is told; a watcher has the methods that it wants.

    Of what is ``Running`` (a crawl, a survey, a keeper, a node), and of what is ``Seen`` of it from
    time to time. Called from the event loop, so each method must return quickly.
    """

    def on_open(self) -> None:
        """The collection is locked, and has the run; next come forecasts and the crawl."""

    def on_plan(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        """``plan`` is None for a crawl without a limit, one that ended before it was made, and one
        by nodes."""

    def on_start(self, running: Running) -> None:
        """It has begun, and can be stopped from now on."""

    def on_progress(self, seen: Seen) -> None:
        """Its present state: a crawl's and a survey's twice a second, a keeper's every minute."""

    def on_messages(self, words: Sequence[str]) -> None:
        """Messages for the user, a sentence each: what was repaired, what went wrong."""
        for word in words:
            _log.warning("%s", word)

    def on_pause(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        """The quota is used up; ``too_late`` are sites with deadlines before the next period."""

    def on_finish(self, report: RunReport) -> None:
        """The run is over; its manager may continue to answer nodes."""
