"""Whether a task kills its nodes, or its nodes vanished for other reasons.

Volunteers' machines are switched off in the middle of tasks, and a long task is lost more often
than a short one. So losses are compared with the time under lease: if others were lost r times in E
hours, the probability that a task held for T hours is lost k times or more is that of a negative
binomial (a Poisson whose rate is known from r losses only). The task is to blame if that is so
unlikely that hardly one of all tasks would be so unlucky.

    steady grid, lost within seconds:      three times are enough
    machines up for minutes, tasks longer: a dozen times are not
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headgate.control.open_leases import OpenLease

__all__ = ["Losses"]

_UNLIKELY = 0.01
"""Share of runs in which a task is given up that is not to blame."""
_SUPPOSED_LOST, _SUPPOSED_SECONDS = 1, 3600.0
"""Before anything is known: one loss in an hour."""


@dataclass(slots=True)
class Losses:
    """Totals over all tasks of a run."""

    most_lost: int
    """A task with fewer losses is not to blame."""
    lost: int = 0
    """Nodes that vanished with a task, even if they came back before another got it."""
    held_seconds: float = 0.0
    """Time under leases."""

    def note_end(self, held: OpenLease, beat_seconds: float) -> None:
        """A lease counts as held until half a heartbeat after its node was last heard."""
        seconds = held.heard - held.since + beat_seconds / 2
        held.task.held_seconds += seconds
        self.held_seconds += seconds

    def blame(self, times: int, held_seconds: float, tasks: int) -> bool:
        """Whether a task lost so often in the time it was held is to blame, compared with all
        ``tasks``.

        >>> steady = Losses(3, lost=5, held_seconds=100 * 3600.0)
        >>> steady.blame(2, 60.0, 500), steady.blame(3, 60.0, 500)
        (False, True)
        >>> minutes = Losses(3, lost=260, held_seconds=260 * 100.0)
        >>> [minutes.blame(times, times * 100.0, 10) for times in (3, 12, 40)]
        [False, False, False]
        >>> minutes.blame(12, 12 * 10.0, 10)  # within seconds, each time
        True
        """
        if times < self.most_lost:
            return False
        lost = max(self.lost - times, 0) + _SUPPOSED_LOST
        seconds = max(self.held_seconds - held_seconds, 0.0) + _SUPPOSED_SECONDS
        return _is_rarer(times, lost, held_seconds / (seconds + held_seconds),
                         _UNLIKELY / max(tasks, 1))  # fmt: skip


def _is_rarer(times: int, lost: int, part: float, than: float) -> bool:
    """Whether the tail of the negative binomial (``lost``, 1 - ``part``) from ``times`` on is
    below ``than``; summed up term by term.

    >>> [_is_rarer(3, 1, 0.1, than) for than in (0.0011, 0.0009)]  # 0.1³
    [True, False]
    """
    if part <= 0:
        return True
    if times * (1 - part) <= lost * part:
        return False  # no more than the mean
    term = math.exp(
        math.lgamma(lost + times) - math.lgamma(lost) - math.lgamma(times + 1)
        + times * math.log(part) + lost * math.log1p(-part)
    )  # fmt: skip
    total = term
    while total < than and term > than * 1e-9:
        term *= (lost + times) / (times + 1) * part
        total += term
        times += 1
    return total < than
