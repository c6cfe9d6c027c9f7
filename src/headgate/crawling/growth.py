"""The counters of a crawl from which the site's size is estimated.

By depth: URLs known, URLs settled, new URLs found on the settled ones, and their sizes; pages of
one depth are more alike than those of different depths. In addition there are running means in
which later pages weigh more, since what a crawl meets first (navigation, indexes) is not typical.
The k-th weight of a mean grows like k**e; it takes one addition per page.
"""

from __future__ import annotations

import math

import msgspec

from headgate.frontier.journal import JournalEntry, Outcome
from headgate.model.told_values import Span, Tally, Volume

__all__ = ["Growth", "Sizes"]

_LEAST_BYTES = 100
"""Lower bound for logarithms: that of an empty failed fetch would dominate the mean."""


class Sizes(msgspec.Struct):
    """Sizes of the responses of one depth."""

    responses: Tally = 0
    wire_bytes: Volume = 0
    log_bytes: Span = 0.0
    """Sum of the logarithms of their wire bytes."""

    def add(self, wire_bytes: int) -> None:
        self.responses += 1
        self.wire_bytes += wire_bytes
        self.log_bytes += math.log(max(wire_bytes, _LEAST_BYTES))


class Growth(msgspec.Struct):
    """The counters of one site run, including what an interrupted run did before."""

    known: list[Tally] = msgspec.field(default_factory=list)
    """URLs by depth, settled or to do."""
    settled: list[Tally] = msgspec.field(default_factory=list)
    """Those of them that are done."""
    brought: list[Tally] = msgspec.field(default_factory=list)
    """New URLs that the settled ones of each depth linked to."""
    sizes: list[Sizes] = msgspec.field(default_factory=list)
    """By depth, of the responses of settled URLs."""
    responses: Tally = 0
    """Of all depths."""
    late_bytes: Span = 0.0
    """Mean wire bytes, weights growing like k."""
    late_brought: Span = 0.0
    """Mean of new URLs per page below the seeds, weights growing like k**3."""
    below: Tally = 0
    """Pages in that mean."""

    def note(self, entry: JournalEntry) -> None:
        """Count an entry of the frontier's journal, new or replayed."""
        found = len(entry.found)
        self.found(entry.depth, found)
        if entry.outcome in (Outcome.PAGE, Outcome.DUPLICATE):
            self.settle(entry.depth - 1, found)
        elif entry.outcome is not Outcome.FOUND:
            self.settle(entry.depth)

    def found(self, depth: int, urls: int) -> None:
        """Count new URLs, from whatever source."""
        self._reach(depth)
        self.known[depth] += urls

    def settle(self, depth: int, brought: int = 0) -> None:
        """A URL is done and linked to so many new ones (which are counted by `found` as well)."""
        self._reach(depth)
        self.settled[depth] += 1
        self.brought[depth] += brought
        if depth:
            self.below += 1
            self.late_brought += (brought - self.late_brought) * min(1.0, 4 / (self.below + 3))

    def came(self, depth: int, wire_bytes: int) -> None:
        """Count the response of a settled URL."""
        self._reach(depth)
        self.sizes[depth].add(wire_bytes)
        self.responses += 1
        self.late_bytes += (wire_bytes - self.late_bytes) * 2 / (self.responses + 1)

    def _reach(self, depth: int) -> None:
        missing = depth + 1 - len(self.known)
        if missing > 0:
            for counts in (self.known, self.settled, self.brought):
                counts.extend([0] * missing)
            self.sizes.extend(Sizes() for _ in range(missing))
