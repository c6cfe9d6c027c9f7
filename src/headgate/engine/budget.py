"""The budget while a crawl runs: the timetable, the rate set by `headgate budget`, and the quota.

Checked twice a second. `headgate budget` leaves a rate in the run's folder; wire bytes are counted
for the quota and saved in the catalog every few seconds, and before a pause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headgate.control.allowance import Allowance, LineUse, first_slot
from headgate.control.catalog import Catalog
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import HeadgateError
from headgate.model.timetable import Timetable
from headgate.scheduling.capacity import Capacity, budget_capacity
from headgate.storage.collection import RunFolder
from headgate.storage.run_state import load_budget

__all__ = ["BudgetKeeper", "is_unlimited"]

_SAVE_SECONDS = 5.0
_CRAWL_WEEKS = 104
"""How far ahead a timetable is unrolled."""


def is_unlimited(budget: Budget) -> bool:
    """Whether there is no rate limit; there may be a quota."""
    bandwidth = budget.bandwidth
    return not isinstance(bandwidth, Timetable) and math.isinf(bandwidth)


@dataclass(slots=True)
class BudgetKeeper:
    """The budget of one leg. ``allowance`` says what may pass from now on."""

    budget: Budget
    run: RunFolder
    catalog: Catalog
    clock: Clock
    notify: Callable[[Sequence[str]], None]
    """Shows remarks to the user, one sentence each."""
    allowance: Allowance = field(init=False)
    _line: LineUse = field(init=False)
    _told_rate: float | None = None
    """The last rate from `headgate budget`."""
    _problem: str = ""
    _paused: bool = False
    _saved: float = -math.inf

    def __post_init__(self) -> None:
        self._line = LineUse.from_saved(self._saved_use())
        self.allowance = Allowance(self._unroll, self.clock.wall(), self.quota_use())

    @property
    def capacity(self) -> Capacity | None:
        """None: unlimited."""
        return self.allowance.capacity

    @property
    def use(self) -> QuotaUse | None:
        """The quota's use at the last check; None: there is no quota."""
        return self.allowance.use

    def quota_use(self) -> QuotaUse | None:
        quota = self.budget.quota
        return None if quota is None else self._line.quota_use(quota, self.clock.wall())

    def rate_at(self, now: float) -> float | None:
        """Bytes per second, ``now`` seconds after the leg began; None: unlimited."""
        return None if self.capacity is None else self.capacity.rate_at(now)

    def least_rate(self, now: float, seconds: float) -> float | None:
        """The lowest rate in the next ``seconds``, sampled at their quarters; None: unlimited."""
        rates = [self.rate_at(now + part * seconds) for part in (0.0, 0.25, 0.5, 0.75, 1.0)]
        return None if rates[0] is None else min(rate for rate in rates if rate is not None)

    def observe(self, now: float, reports: Sequence[Progress]) -> bool:
        """Count what arrived; whether the budget has changed."""
        self._line.observe(reports, self.clock.wall())
        self._obey_new_rate()
        return self.allowance.observe(now, self.clock.wall(), self.quota_use())

    def save(self, now: float) -> None:
        """Save the use of the line, every few seconds."""
        if now - self._saved >= _SAVE_SECONDS:
            self._saved = now
            self.save_use()

    def save_use(self) -> None:
        fresh = self._line.unsaved()
        if fresh:
            self.catalog.add_line_use(fresh)

    def pause_began(self) -> QuotaUse | None:
        """The quota, if it was used up since the last call."""
        use = self.use
        paused = use is not None and use.spent
        began = paused and not self._paused
        self._paused = paused
        if began:
            self.save_use()
        return use if began else None

    def _saved_use(self) -> Mapping[int, int]:
        quota = self.budget.quota
        return {} if quota is None else self.catalog.line_use(first_slot(quota, self.clock.wall()))

    def _unroll(self, start: datetime) -> Capacity | None:
        """The budget's rates from a moment on; None: unlimited."""
        if is_unlimited(self.budget):
            return None
        return budget_capacity(self.budget, start, _CRAWL_WEEKS)

    def _obey_new_rate(self) -> None:
        """A damaged file does not end a running crawl."""
        try:
            rate = load_budget(self.run)
        except HeadgateError as fault:
            rate, problem = None, str(fault)
            if problem != self._problem:
                self._problem = problem
                self.notify([f"{problem}; the budget stays as it was"])
        if rate is None or rate == self._told_rate:
            return
        self._told_rate = rate
        self.allowance.fix(None if math.isinf(rate) else Capacity.constant(max(rate, 1.0)))
