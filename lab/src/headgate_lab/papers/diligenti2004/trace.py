"""What happened in a run, second by second, and its summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from headgate_lab.bed.readings import BIN_SECONDS, Bins, windows
from headgate_lab.papers.diligenti2004.world import LIMIT

__all__ = ["COLUMNS", "Summary", "Trace", "summary"]

_BINS_A_SECOND = round(1 / BIN_SECONDS)


@dataclass(slots=True)
class Trace:
    """Times are seconds from the start of the run."""

    seconds: float
    received: Bins = field(default_factory=lambda: np.zeros(0))
    """Bytes per bin of 10 ms."""
    predicted: list[tuple[float, float]] = field(default_factory=list)
    """(moment, sum of estimates from then on)."""
    starts: list[tuple[float, int, int]] = field(default_factory=list)
    """(moment, place in the queue, how many better ones were passed over)."""
    ended: int = 0
    failures: list[str] = field(default_factory=list)
    pause: float = 0.0
    """For how many seconds at a time the machine stood still, and the line with it."""

    def rates(self, begin: float, end: float) -> Bins:
        """Bytes in each whole second."""
        first, last = round(begin) * _BINS_A_SECOND, round(end) * _BINS_A_SECOND
        rates: Bins = self.received[first:last].reshape(-1, _BINS_A_SECOND).sum(axis=1)
        return rates

    def predictions(self, begin: float, end: float) -> Bins:
        """The mean prediction of each whole second."""
        moments = np.array([0.0, *(moment for moment, _ in self.predicted)])
        values = np.array([0.0, *(value for _, value in self.predicted)])
        grid = np.arange(round(begin) * _BINS_A_SECOND, round(end) * _BINS_A_SECOND) * BIN_SECONDS
        held: Bins = values[np.searchsorted(moments, grid, side="right") - 1]
        means: Bins = held.reshape(-1, _BINS_A_SECOND).mean(axis=1)
        return means


@dataclass(frozen=True, slots=True)
class Summary:
    """Rates as parts of the limit."""

    mean: float
    worst_second: float
    """The most that any second carried, wherever it began, the start of the run included."""
    seconds_above: float
    """The part of whole seconds that carried more than the limit."""
    scatter: float
    """Standard deviation of whole seconds."""
    predicted_mean: float
    predicted_most: float
    error: float
    """Mean distance of prediction and measure over whole seconds."""
    passed_over: float
    """Better documents still in line when one starts: the mean."""
    displacement: float
    """Mean distance in the queue between a document's start and its place by score."""
    downloads: int
    pause: float
    """Longest stall of the machine, in seconds: bytes held back then come at once."""


COLUMNS: tuple[tuple[str, Callable[[Summary], str]], ...] = (
    ("mean", lambda found: f"{found.mean:.1%}"),
    ("worst second", lambda found: f"{found.worst_second:.0%}"),
    ("seconds above L", lambda found: f"{found.seconds_above:.0%}"),
    ("scatter", lambda found: f"{found.scatter:.0%}"),
    ("predicted", lambda found: f"{found.predicted_mean:.0%}" if found.predicted_mean else ""),
    ("passed over", lambda found: f"{found.passed_over:.2f}"),
    ("out of place", lambda found: f"{found.displacement:.1f}"),
    ("downloads", lambda found: f"{found.downloads:.0f}"),
)
"""A summary as a row of a table: heads, and how each value is written."""


def summary(trace: Trace, begin: float = 0.0) -> Summary:
    """Of the run from ``begin`` on; the worst second and the order, of all of it."""
    rates = trace.rates(begin, trace.seconds) / LIMIT
    predicted = trace.predictions(begin, trace.seconds) / LIMIT
    places = np.array([place for _, place, _ in trace.starts])
    ranks = np.argsort(np.argsort(places))
    return Summary(
        mean=float(rates.mean()),
        worst_second=float(windows(trace.received, 1.0).max()) / LIMIT,
        seconds_above=float((rates > 1.0).mean()),
        scatter=float(rates.std()),
        predicted_mean=float(predicted.mean()),
        predicted_most=max((value for _, value in trace.predicted), default=0.0) / LIMIT,
        error=float(np.abs(rates - predicted).mean()),
        passed_over=float(np.mean([passed for _, _, passed in trace.starts])),
        displacement=float(np.abs(ranks - np.arange(len(ranks))).mean()),
        downloads=trace.ended,
        pause=trace.pause,
    )
