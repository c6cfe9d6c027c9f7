"""Whether a task kills its nodes, or was only with machines that vanish whatever they do.

Volunteers' machines are switched off with tasks in their hands. If a part p of all leases is lost
that way, a task is lost k times in a row with probability p^k: it is to blame where that is
unlikely. On a steady grid three losses are enough; where every other lease is lost, it takes seven.
Tasks that take long are lost more often than others; that is not reckoned with.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Losses"]

_UNLIKELY = 0.01
_SUPPOSED_LOST, _SUPPOSED = 1, 10
"""Of leases before any has ended: one in ten, and the first tens that end weigh more."""


@dataclass(slots=True)
class Losses:
    """Of leases that ended since the manager started."""

    most_lost: int
    """Fewer losses are no sign of anything."""
    lost: int = 0
    kept: int = 0
    """Their results came."""

    def blame(self, times: int) -> bool:
        """A task that was lost so often, by how others fared.

        >>> steady = Losses(3, lost=20, kept=500)
        >>> steady.blame(2), steady.blame(3)
        (False, True)
        >>> of_volunteers = Losses(3, lost=260, kept=250)
        >>> of_volunteers.blame(6), of_volunteers.blame(7)
        (False, True)
        """
        if times < self.most_lost:
            return False
        others = max(self.lost - times, 0)
        part = (others + _SUPPOSED_LOST) / (others + self.kept + _SUPPOSED)
        return part**times <= _UNLIKELY
