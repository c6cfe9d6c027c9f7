"""URLs that a frontier left out, by reason: how many, and the first few of each.

Memory is bounded by the number of reasons. What is new can be taken out for the journal, since a
resumed run does not meet refused URLs again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headgate.model.left_out import MOST_EXAMPLES, LeftOut

__all__ = ["Omissions", "Refusals"]

_LONGEST_EXAMPLE = 200

Refusals = Sequence[tuple[str, int, str]]
"""Reason, number of URLs, and one of them."""


class Omissions:
    """Counts of one part of the frontier."""

    __slots__ = ("_examples", "_fresh", "counts")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._fresh: dict[str, tuple[int, str]] = {}

    def note(self, reason: str, urls: Sequence[str]) -> None:
        if urls:
            self._count(reason, len(urls), urls[:MOST_EXAMPLES])
            before, example = self._fresh.get(reason, (0, urls[0][:_LONGEST_EXAMPLE]))
            self._fresh[reason] = before + len(urls), example

    def fresh(self) -> Refusals:
        """What was noted since the last call."""
        if not self._fresh:
            return ()
        fresh = [(reason, count, example) for reason, (count, example) in self._fresh.items()]
        self._fresh.clear()
        return fresh

    def recall(self, refusals: Refusals) -> None:
        """Count refusals from the journal."""
        for reason, count, example in refusals:
            self._count(reason, count, [example])

    def report(self) -> dict[str, LeftOut]:
        return {
            reason: LeftOut(count, tuple(self._examples[reason]))
            for reason, count in self.counts.items()
        }

    def _count(self, reason: str, count: int, urls: Sequence[str]) -> None:
        self.counts[reason] += count
        examples = self._examples.setdefault(reason, [])
        for url in urls:
            if len(examples) < MOST_EXAMPLES:
                examples.append(url[:_LONGEST_EXAMPLE])
