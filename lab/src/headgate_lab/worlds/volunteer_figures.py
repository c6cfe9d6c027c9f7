"""Results of a run over volunteers' machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headgate_lab.worlds.channel_copies import ChannelCopies
from headgate_lab.worlds.volunteers import FIRST_INTERVALS, WEIGHTS, Volunteers

__all__ = ["Figures", "Series", "Tally"]

Ints = npt.NDArray[np.int64]

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
    """Of copies whose pages are as old as when each was fetched."""
    freshness: float
    weighted_task_freshness: float
    """If all pages were as old as the task that fetched them."""
    task_freshness: float
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

    def __init__(
        self,
        world: Volunteers,
        minutes: int,
        submitted: Sequence[int] | Ints,
        updated: Sequence[int] | Ints,
    ) -> None:
        """Tasks of each channel and those that ended are counted by whoever runs them."""
        self._world, self._minutes = world, minutes
        self._submitted, self._updated = submitted, updated
        self._copies = ChannelCopies.none(world.rates)
        self._megabits = world.kilobits / 1e3
        self._series = Series()
        self._queued = self._here = self._seen = 0
        self._got = 0.0
        self._half = (0, 0)
        self._queue, self._all_here = 0, 0

    def came(self, channels: Sequence[int] | Ints, begun: Sequence[int] | Ints, now: int) -> None:
        """Tasks of different channels have ended well."""
        if len(channels):
            self._got += float(self._megabits[channels].sum())
            self._copies.came(channels, begun, now)

    def minute(self, now: int, queued: int, here: int) -> None:
        """A minute has ended, with so many waiting tasks and machines present."""
        self._queued += queued
        self._here += here
        self._seen += 1
        if now + 1 == self._minutes // 2:
            self._half = int(np.sum(self._submitted)), int(np.sum(self._updated))
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
        group, updated = self._world.group, np.array(self._updated)
        submitted = np.array(self._submitted)
        kept = updated * FIRST_INTERVALS[group] / self._minutes
        weights = WEIGHTS[group]
        fresh, task_fresh = self._copies.freshness(self._minutes)
        by_group = np.bincount(group, submitted)
        later = int(submitted.sum()) - self._half[0], int(updated.sum()) - self._half[1]
        return Figures(
            by_group.astype(int).tolist(),
            np.bincount(group, updated).astype(int).tolist(),
            queue=self._queue / max(self._all_here, 1),
            intervals=(np.bincount(group) * self._minutes / np.maximum(by_group, 1)).tolist(),
            weighted_quality=float((weights * kept).mean()),
            quality=float(kept.mean()),
            weighted_freshness=float((weights * fresh).sum() / weights.sum()),
            freshness=float(fresh.mean()),
            weighted_task_freshness=float((weights * task_fresh).sum() / weights.sum()),
            task_freshness=float(task_fresh.mean()),
            covered=float((updated > 0).mean()),
            success=later[1] / max(later[0], 1),
            line_megabits=float(self._world.bandwidth.sum()) / 1e3,
            series=self._series,
        )
