"""The question planning answers: so much work, these deadlines and caps, this capacity, m slots.

A site may be one that stops: at its deadline it is dropped, whatever is left of it. It is never
late; what it did not get is left undone. So that bytes left undone and seconds of lateness can be
weighed against each other, they are added up as the *shortfall*: each second of lateness counts as
one, and bytes left undone count as the seconds that the whole line would need for them, at its
highest rate. A second of the line given to a site that stops then gains what it costs one late
site: a site that stops is neither starved for nothing nor preferred.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec import structs

from headgate.model.budget import Objective
from headgate.planning.arrays import BoolArray, FloatArray
from headgate.planning.capacity import Capacity

__all__ = ["Problem"]


class Problem(msgspec.Struct, frozen=True, eq=False):
    """One entry per site in each array; sites are known by their index here."""

    work: FloatArray
    """Bytes the line must carry, alpha_i D_i in the paper's terms. Positive."""
    deadlines: FloatArray
    """Seconds from now; infinity: none; zero or less: overdue."""
    caps: FloatArray
    """Maximum bytes per second of a site; infinity: only the budget limits it. Positive."""
    stops: BoolArray
    """Whether the site ends at its deadline, whatever is left; says nothing without a deadline."""
    capacity: Capacity
    slots: int
    """Maximum number of sites crawled at once, m. At least 1."""
    objective: Objective = Objective.MAKESPAN

    @classmethod
    def of(
        cls,
        work: object,
        deadlines: object = None,
        *,
        budget: float | Capacity,
        caps: object = None,
        stops: object = None,
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
            np.zeros(len(work_), np.bool_) if stops is None else np.asarray(stops, dtype=np.bool_),
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

    @property
    def may_stop(self) -> bool:
        """Whether some site can be dropped before its end."""
        return bool((self.stops & np.isfinite(self.deadlines)).any())

    @property
    def all_go_on(self) -> Problem:
        """The same problem, with no site stopping at its deadline."""
        return structs.replace(self, stops=np.zeros_like(self.stops))
