"""What a run over volunteers' machines comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.lab.worlds.channel_copies import ChannelCopies
from headgate.lab.worlds.volunteers import FIRST_INTERVALS, WEIGHTS, Volunteers

__all__ = ["Figures", "Series", "Tally"]

_POINTS = 50
"""Of the curves over time."""


@dataclass(slots=True)
class Series:
    """Over time, a value for each part of the run."""

    minutes: list[float] = field(default_factory=list)
    """The end of the part."""
    queued: list[float] = field(default_factory=list)
    """Tasks that wait, in the mean."""
    here: list[float] = field(default_factory=list)
    """Machines."""
    megabits: list[float] = field(default_factory=list)
    """Per second, of tasks that ended well."""


@dataclass(frozen=True, slots=True)
class Figures:
    submitted: list[int]
    """By group."""
    updated: list[int]
    queue: float
    """Tasks that wait for each machine that is here, in the mean."""
    intervals: list[float]
    """Between submissions of a channel, mean over the run, by group."""
    weighted_quality: float
    quality: float
    weighted_freshness: float
    freshness: float
    covered: float
    """Share of the channels that were updated at all."""
    success: float
    """Updates per submission, in the second half of the run."""
    line_megabits: float
    """Per second, of all machines together."""
    series: Series

    @property
    def updates_per_minute(self) -> float:
        return sum(self.updated) / self.series.minutes[-1]


class Tally:
    """Counts while a run goes on."""

    def __init__(self, world: Volunteers, minutes: int) -> None:
        channels = len(world.group)
        self._world, self._minutes = world, minutes
        self.copies = ChannelCopies.none(world.rates)
        self.submitted, self.updated = [0] * channels, [0] * channels
        self._megabits = (world.kilobits / 1e3).tolist()
        self._series = Series()
        self._queued = self._here = self._seen = 0
        self._got = 0.0
        self._half = (0, 0)
        self._queue, self._all_here = 0, 0

    def came(self, channel: int, begun: float, now: float) -> None:
        self.updated[channel] += 1
        self._got += self._megabits[channel]
        self.copies.came(channel, begun, now)

    def minute(self, now: int, queued: int, here: int) -> None:
        """Is over, with so many tasks that wait and machines that are here."""
        self._queued += queued
        self._here += here
        self._seen += 1
        if now + 1 == self._minutes // 2:
            self._half = sum(self.submitted), sum(self.updated)
        part = max(self._minutes // _POINTS, 1)
        if (now + 1) % part == 0:
            self._series.minutes.append(float(now + 1))
            self._series.queued.append(self._queued / self._seen)
            self._series.here.append(self._here / self._seen)
            self._series.megabits.append(self._got / self._seen / 60)
            self._queue, self._all_here = self._queue + self._queued, self._all_here + self._here
            self._queued = self._here = self._seen = 0
            self._got = 0.0

    def figures(self) -> Figures:
        group, updated = self._world.group, np.array(self.updated)
        submitted = np.array(self.submitted)
        kept = updated * FIRST_INTERVALS[group] / self._minutes
        weights = WEIGHTS[group]
        fresh = self.copies.freshness(self._minutes)
        by_group = np.bincount(group, submitted)
        later = int(submitted.sum()) - self._half[0], int(updated.sum()) - self._half[1]
        return Figures(
            by_group.astype(int).tolist(),
            np.bincount(group, updated).astype(int).tolist(),
            self._queue / max(self._all_here, 1),
            (np.bincount(group) * self._minutes / np.maximum(by_group, 1)).tolist(),
            float((weights * kept).mean()),
            float(kept.mean()),
            float((weights * fresh).sum() / weights.sum()),
            float(fresh.mean()),
            float((updated > 0).mean()),
            later[1] / max(later[0], 1),
            float(self._world.bandwidth.sum()) / 1e3,
            self._series,
        )
