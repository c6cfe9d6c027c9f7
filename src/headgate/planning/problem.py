"""The question planning answers: so much work, these deadlines and caps, this capacity, m slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.model.budget import Objective
from headgate.planning.arrays import FloatArray
from headgate.planning.capacity import Capacity

__all__ = ["Problem"]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One entry per site in each array; sites are known by their index here."""

    work: FloatArray
    """Bytes the line must carry, alpha_i D_i in the paper's terms. Positive."""
    deadlines: FloatArray
    """Seconds from now; infinity: none; zero or less: overdue."""
    caps: FloatArray
    """Bytes per second a site can take at the most; infinity: no bound but the budget. Positive."""
    capacity: Capacity
    slots: int
    """Sites crawled at once at the most, m. At least 1."""
    objective: Objective = Objective.MAKESPAN

    @classmethod
    def of(
        cls,
        work: object,
        deadlines: object = None,
        *,
        budget: float | Capacity,
        caps: object = None,
        slots: int | None = None,
        objective: Objective = Objective.MAKESPAN,
    ) -> Problem:
        """A problem from anything array-like; without slots every site has one."""
        work_ = np.asarray(work, dtype=np.float64)
        unbounded = np.full(len(work_), np.inf)
        return cls(
            work_,
            unbounded if deadlines is None else np.asarray(deadlines, dtype=np.float64),
            unbounded if caps is None else np.asarray(caps, dtype=np.float64),
            budget if isinstance(budget, Capacity) else Capacity.constant(budget),
            max(len(work_), 1) if slots is None else slots,
            objective,
        )

    def __len__(self) -> int:
        return len(self.work)

    @property
    def capped(self) -> bool:
        """Whether some cap can bind at some time."""
        return bool((self.caps < self.capacity.peak).any())
