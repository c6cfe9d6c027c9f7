"""The watcher of a crawl that nobody watches."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast
from headgate.control.snapshots import Moment
from headgate.model.budget import QuotaUse
from headgate.model.plan import Plan

__all__ = ["NullWatcher"]

_log = logging.getLogger("headgate")


class NullWatcher:
    """A `headgate.features.crawl.job.Watcher` that only logs repairs."""

    def opened(self) -> None:
        pass

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        pass

    def look(self, look: Moment) -> None:
        pass

    def mended(self, remarks: Sequence[str]) -> None:
        for remark in remarks:
            _log.warning("%s", remark)

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        pass

    def attach(self, control_loop: ControlLoop) -> None:
        pass
