"""Long work in pieces, between which an event loop can answer others.

Such work is a generator that yields where it may be interrupted, and returns its result. Whether
there is an interruption is up to whoever runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

__all__ = ["Pieces", "at_one_go", "in_turns", "metered"]

Result = TypeVar("Result")
Pieces: TypeAlias = Generator[None, None, Result]


def at_one_go(work: Pieces[Result]) -> Result:
    """
    >>> def sum_of(numbers):
    ...     total = 0
    ...     for number in numbers:
    ...         total += number
    ...         yield
    ...     return total
    >>> at_one_go(sum_of([1, 2, 3]))
    6
    """
    try:
        while True:
            next(work)
    except StopIteration as ended:
        result: Result = ended.value
        return result


async def in_turns(work: Pieces[Result]) -> Result:
    """After each piece it is everybody else's turn."""
    try:
        while True:
            next(work)
            await asyncio.sleep(0)
    except StopIteration as ended:
        result: Result = ended.value
        return result


def metered(
    work: Pieces[Result], clock: Callable[[], float], spend: Callable[[float], None]
) -> Pieces[Result]:
    """The same work; the time of each piece is told, without that of others between them."""
    while True:
        before = clock()
        try:
            next(work)
        except StopIteration as ended:
            result: Result = ended.value
            return result
        finally:
            spend(clock() - before)
        yield
