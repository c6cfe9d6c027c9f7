"""Tasks that wait in the catalog only: of a hundred thousand, the board needs the next few.

Only their ranks are in memory. If no task on the board suits a node, the next ones have to be read
from the catalog: `wanted` says so, `next_ones` which, and `read` notes that it was done.
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
    """Tasks in the catalog that were never leased, sorted by rank."""

    at_once: int = _AT_ONCE
    """Tasks read at once."""
    wanted: bool = False
    """A node claimed a task, and may get one of these."""
    _ranks: NDArray[np.void] = field(default_factory=lambda: np.empty(0, _RANK))
    """Sorted."""
    _read: int = 0

    @classmethod
    def of(cls, ranks: Iterable[Rank], at_once: int = _AT_ONCE) -> FarTasks:
        return cls(at_once, _ranks=np.sort(np.fromiter(ranks, _RANK)))

    def __len__(self) -> int:
        return len(self._ranks) - self._read

    @property
    def first(self) -> Rank | None:
        """The lowest rank, before which tasks of higher rank must not be given out; None: there are
        no tasks."""
        if not len(self):
            return None
        first: Rank = self._ranks[self._read].item()
        return first

    def next_ones(self) -> list[int]:
        """Numbers of the tasks to read next."""
        numbers: list[int] = self._ranks["number"][self._read : self._read + self.at_once].tolist()
        return numbers

    def read(self) -> None:
        """The tasks of `next_ones` are on the board now."""
        self._read = min(self._read + self.at_once, len(self._ranks))
        self.wanted = False
