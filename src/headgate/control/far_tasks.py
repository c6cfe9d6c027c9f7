"""Tasks that wait in the catalog only: of a hundred thousand, the board needs the next few.

Only their ranks are in memory. If no task on the board suits a node, the next ones have to be read
from the catalog: `wanted` says so, `next_ones` which, and `read` notes that it was done.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from headgate.control.board_rows import Rank

__all__ = ["FarTasks"]

_AT_ONCE = 500


@dataclass(slots=True)
class FarTasks:
    """Tasks in the catalog that were never leased, sorted by rank."""

    at_once: int = _AT_ONCE
    """Tasks read at once."""
    wanted: bool = False
    """A node claimed a task, and may get one of these."""
    _unpromised: array[int] = field(default_factory=lambda: array("b"))
    """The three parts of each rank, in the order of ranks: 17 bytes for a task."""
    _keys: array[float] = field(default_factory=lambda: array("d"))
    _numbers: array[int] = field(default_factory=lambda: array("q"))
    _read: int = 0

    @classmethod
    def of(cls, ranks: Iterable[Rank], at_once: int = _AT_ONCE) -> FarTasks:
        found = cls(at_once)
        for unpromised, key, number in sorted(ranks):
            found._unpromised.append(unpromised)
            found._keys.append(key)
            found._numbers.append(number)
        return found

    def __len__(self) -> int:
        return len(self._numbers) - self._read

    @property
    def first(self) -> Rank | None:
        """The lowest rank, before which tasks of higher rank must not be given out; None: there are
        no tasks."""
        if not len(self):
            return None
        return self._unpromised[self._read], self._keys[self._read], self._numbers[self._read]

    def next_ones(self) -> list[int]:
        """Numbers of the tasks to read next."""
        return self._numbers[self._read : self._read + self.at_once].tolist()

    def read(self) -> None:
        """The tasks of `next_ones` are on the board now."""
        self._read = min(self._read + self.at_once, len(self._numbers))
        self.wanted = False
