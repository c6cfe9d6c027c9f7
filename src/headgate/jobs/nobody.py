"""The watcher of a crawl that nobody watches."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from headgate.control.conducting import Conducting
from headgate.control.forecast import Forecast
from headgate.control.snapshots import Look
from headgate.model.plan import Plan
from headgate.model.quota import QuotaUse

__all__ = ["Nobody"]

_log = logging.getLogger("headgate")


class Nobody:
    """A `headgate.jobs.crawl.Watcher` that only logs repairs."""

    def opened(self) -> None:
        pass

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        pass

    def look(self, look: Look) -> None:
        pass

    def mended(self, remarks: Sequence[str]) -> None:
        for remark in remarks:
            _log.warning("%s", remark)

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        pass

    def attach(self, conducting: Conducting) -> None:
        pass
