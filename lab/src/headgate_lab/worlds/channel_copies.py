"""How fresh copies of channels are, over a run.

A channel's pages change by a Poisson process each. They are fetched evenly while a task runs and
count from its end, so a copy made from ``begun`` to ``ended`` is fresh at ``t`` with probability
e^{−λ(t − ended)} · (1 − e^{−λ(ended − begun)}) / (λ (ended − begun)). At the start there is none.

Who takes all of a copy to be as old as its task, as if its pages had been fetched at once when that
began, has e^{−λ(t − begun)} instead: less, most of all where tasks take long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.page_estimates import mean_freshness

__all__ = ["ChannelCopies"]

_AT_ONCE = 1 << 15
"""Copies that are reckoned together: one by one would take most of a run's time."""

Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class ChannelCopies:
    rates: FloatArray
    """Changes per minute."""
    _ended: FloatArray
    """Of each channel, when its copy came; negative: there is none."""
    _fresh: FloatArray
    """Of its pages, when it came; in the second row if all are as old as the task."""
    _minutes: FloatArray
    """Fresh ones up to then, in both ways."""
    _new: list[Ints] = field(default_factory=list)
    """Copies that are not reckoned yet, as they came: channels, begins and ends."""
    _count: int = 0
    """Of those."""

    @classmethod
    def none(cls, rates: FloatArray) -> ChannelCopies:
        count = len(rates)
        return cls(rates, np.full(count, -1.0), np.zeros((2, count)), np.zeros((2, count)))

    def came(self, channels: Sequence[int] | Ints, begun: Sequence[int] | Ints, now: int) -> None:
        """Of different channels."""
        self._new.append(np.array((channels, begun, np.full(len(channels), now))))
        self._count += len(channels)
        if self._count >= _AT_ONCE:
            self._reckon()

    def freshness(self, minutes: float) -> tuple[FloatArray, FloatArray]:
        """Of each channel, its mean over the whole run: by pages, and by tasks."""
        self._reckon()
        since = np.maximum(minutes - self._ended, 0.0)
        last = self._fresh * mean_freshness(self.rates, since) * since
        by_pages, by_tasks = (self._minutes + last) / minutes
        return as_floats(by_pages), as_floats(by_tasks)

    def _reckon(self) -> None:
        if not self._count:
            return
        found = np.concatenate(self._new, axis=1)
        self._new, self._count = [], 0
        channel, begun, ended = found[:, np.argsort(found[0], kind="stable")]
        first = np.flatnonzero(np.diff(channel, prepend=-1))
        last = np.append(first[1:], len(channel)) - 1
        rate = self.rates[channel]
        span = rate * (ended - begun)
        fresh = np.array([mean_freshness(1.0, span), np.exp(-span)])
        # What each copy follows: the one before it here, or the channel's last.
        of_before, end_before = np.roll(fresh, 1, axis=1), np.roll(ended, 1).astype(np.float64)
        of_before[:, first] = self._fresh[:, channel[first]]
        end_before[first] = self._ended[channel[first]]
        lasted = -np.expm1(-rate * (ended - end_before)) / rate
        self._minutes[:, channel[first]] += np.add.reduceat(of_before * lasted, first, axis=1)
        self._fresh[:, channel[last]] = fresh[:, last]
        self._ended[channel[last]] = ended[last]
