"""How a reproduction runs its instances: one after the other, or spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

__all__ = ["Mapper"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Mapper(Protocol):
    """``map``, or one that does the same elsewhere; tasks and results are plain values."""

    def __call__(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], /
    ) -> Iterable[Result]: ...
