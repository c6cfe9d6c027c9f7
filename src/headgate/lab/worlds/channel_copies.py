"""How fresh copies of channels are, over a run.

A channel's pages change by a Poisson process each. They are fetched evenly while a task runs and
count from its end, so a copy made from ``begun`` to ``ended`` is fresh at ``t`` with probability
e^{−λ(t − ended)} · (1 − e^{−λ(ended − begun)}) / (λ (ended − begun)). At the start there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.staleness import mean_freshness

__all__ = ["ChannelCopies"]


@dataclass(slots=True)
class ChannelCopies:
    rates: list[float]
    """Changes per minute."""
    ended: list[float] = field(default_factory=list)
    """Of each channel, when its copy came; negative: there is none."""
    fresh: list[float] = field(default_factory=list)
    """Of its pages, when it came."""
    minutes: list[float] = field(default_factory=list)
    """Fresh ones, up to then."""

    @classmethod
    def none(cls, rates: FloatArray) -> ChannelCopies:
        count = len(rates)
        return cls(rates.tolist(), [-1.0] * count, [0.0] * count, [0.0] * count)

    def came(self, channel: int, begun: float, now: float) -> None:
        rate = self.rates[channel]
        since = now - self.ended[channel]
        self.minutes[channel] += self.fresh[channel] * (1 - exp(-rate * since)) / rate
        span = rate * (now - begun)
        self.fresh[channel] = (1 - exp(-span)) / span if span > 0 else 1.0
        self.ended[channel] = now

    def freshness(self, minutes: float) -> FloatArray:
        """Of each channel, its mean over the whole run."""
        rates, ended = np.array(self.rates), np.array(self.ended)
        since = np.maximum(minutes - ended, 0.0)
        last = np.array(self.fresh) * mean_freshness(rates, since) * since
        return as_floats((np.array(self.minutes) + last) / minutes)
