"""SARSS's volunteers: channels to recrawl, machines that come and go, what a recrawl takes.

A step is a minute. How many pages a channel has is log-normal (σ 1.2) with the paper's mean; what a
page takes is 2 · latency + 0.2 s + its bytes over a fifth of the machine's bandwidth. All is drawn
before a run, so that all strategies meet the same channels and the same churn.

Bytes per page are not in the paper. They are set so that capacity is what its tables imply (33.5
updates a minute), on seeds that nothing is judged on (``python -m bench.lab --calibrate``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats

__all__ = ["CHANNELS", "FIRST_INTERVALS", "THREADS", "WEIGHTS", "Volunteers", "volunteers"]

FIRST_INTERVALS: FloatArray = np.array([60.0, 120.0, 240.0, 480.0, 960.0])
"""Of the groups, the fastest first; also the mean time between changes of their channels."""
CHANNELS = (543, 3954, 7150, 3816, 538)
"""Of the groups, as the paper's tables imply."""
WEIGHTS: FloatArray = np.array([16.0, 8.0, 4.0, 2.0, 1.0])
THREADS = 5

_MEAN_PAGES, _PAGES_SPREAD = 8738.0, 1.2
_PAGE_KILOBITS = 150.0
_WAIT_SECONDS = 0.2
_LATENCIES = (0.01, 0.06)
_BANDWIDTHS, _BANDWIDTH_SHARES = (512.0, 1024.0, 2048.0), (0.3, 0.4, 0.3)
_LIFE, _AWAY = (1000.0, 200.0), (600.0, 200.0)
_NOTIFY = 1 / 3


@dataclass(frozen=True, slots=True)
class Volunteers:
    """Times are minutes."""

    group: npt.NDArray[np.int_]
    """Of each channel."""
    pages: FloatArray
    latency: FloatArray
    """Seconds."""
    kilobits: FloatArray
    """Of each channel's pages together."""
    waiting: FloatArray
    """What all its pages take beside their transfer."""
    home: npt.NDArray[np.int_]
    """The machine near it."""
    bandwidth: FloatArray
    """Of each machine, kbit/s."""
    turns: list[list[tuple[int, bool]]]
    """At each minute the machines that go or come back, and whether one that goes tells others."""

    @property
    def rates(self) -> FloatArray:
        """Changes of each channel per minute."""
        return as_floats(1 / FIRST_INTERVALS[self.group])

    @property
    def per_kilobit(self) -> FloatArray:
        """Minutes that each machine takes, in one of its threads."""
        return as_floats(THREADS / self.bandwidth / 60)

    def expected_minutes(self) -> FloatArray:
        """Of each channel, on any machine."""
        return as_floats(self.waiting + self.kilobits * self.per_kilobit.mean())


def volunteers(
    machines: int,
    minutes: int,
    seed: int,
    scale: int = 1,
    page_kilobits: float = _PAGE_KILOBITS,
) -> Volunteers:
    """``scale`` 10 is a tenth of the channels; ``machines`` are as many as are told."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(CHANNELS)), [round(n / scale) for n in CHANNELS])
    pages = np.exp(_PAGES_SPREAD * rng.standard_normal(len(group)))
    pages *= _MEAN_PAGES / pages.mean()
    latency = rng.uniform(*_LATENCIES, len(group))
    bandwidth = rng.choice(_BANDWIDTHS, machines, p=_BANDWIDTH_SHARES)
    home = rng.integers(machines, size=len(group))
    return Volunteers(
        group,
        as_floats(pages),
        latency=as_floats(latency),
        kilobits=as_floats(pages * page_kilobits),
        waiting=as_floats(pages * (2 * latency + _WAIT_SECONDS) / 60),
        home=home,
        bandwidth=as_floats(bandwidth),
        turns=_turns(machines, minutes, np.random.default_rng((seed, 1))),
    )


def _turns(machines: int, minutes: int, rng: np.random.Generator) -> list[list[tuple[int, bool]]]:
    """All are here at the start."""
    turns: list[list[tuple[int, bool]]] = [[] for _ in range(minutes)]
    often = 2 * int(minutes / (_LIFE[0] + _AWAY[0]) + 5)
    for machine in range(machines):
        lasting = rng.normal(_LIFE[0], _LIFE[1], often)
        lasting[1::2] = rng.normal(_AWAY[0], _AWAY[1], often // 2)
        tells = rng.random(often) < _NOTIFY
        moments = np.cumsum(np.maximum(np.rint(lasting), 1)).astype(int)
        for moment, told in zip(moments.tolist(), tells.tolist(), strict=True):
            if moment < minutes:
                turns[moment].append((machine, told))
    return turns
