"""Tasks that wait in the catalog alone: of a hundred thousand, the board needs the next few.

Of each only its rank is in memory. When none of the tasks on the board is for whoever asks, the
next ones are to be read: `wanted` says so, `next_ones` which, and `read` that it was done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headgate.control.board_rows import Rank

__all__ = ["FarTasks"]

_RANK = np.dtype([("unpromised", "i1"), ("key", "f8"), ("number", "i8")])
_AT_ONCE = 500


@dataclass(slots=True)
class FarTasks:
    """All were stored, and none was ever given out."""

    at_once: int = _AT_ONCE
    """That are read together."""
    wanted: bool = False
    """Somebody asked for a task, and may get one of these."""
    _ranks: NDArray[np.void] = field(default_factory=lambda: np.empty(0, _RANK))
    """In order."""
    _read: int = 0

    @classmethod
    def of(cls, ranks: Iterable[Rank], at_once: int = _AT_ONCE) -> FarTasks:
        return cls(at_once, _ranks=np.sort(np.fromiter(ranks, _RANK)))

    def __len__(self) -> int:
        return len(self._ranks) - self._read

    @property
    def first(self) -> Rank | None:
        """What has a higher rank has to wait; None: there are none."""
        if not len(self):
            return None
        first: Rank = self._ranks[self._read].item()
        return first

    def next_ones(self) -> list[int]:
        """Their numbers."""
        numbers: list[int] = self._ranks["number"][self._read : self._read + self.at_once].tolist()
        return numbers

    def read(self) -> None:
        """The next ones are on the board."""
        self._read = min(self._read + self.at_once, len(self._ranks))
        self.wanted = False
