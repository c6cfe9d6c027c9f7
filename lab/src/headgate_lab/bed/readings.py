"""The records of meter and watch, and what they say about a limit.

A window is an interval of so many seconds, at any start (in steps of a bin, 10 ms); the worst is
the one with most bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["BIN_SECONDS", "Bins", "Readings", "windows"]

Bins = npt.NDArray[np.float64]
"""Bytes received per bin."""

BIN_SECONDS = 0.01

_RECORD = np.dtype([("bin", "<u4"), ("address", "<u4"), ("received", "<u4"), ("sent", "<u4")])


class Readings:
    """Bytes received per bin: in all, and by the address they came from."""

    def __init__(self, file: Path, pauses: Path) -> None:
        raw = file.read_bytes()
        self._pauses = [tuple(map(float, line.split())) for line in pauses.read_text().splitlines()]
        self._start = int.from_bytes(raw[:8], "little") * 1e-9
        self._records = np.frombuffer(raw, _RECORD, offset=8)

    def received(self, begin: float, end: float, *addresses: str) -> Bins:
        """Between two wall times, from these addresses; none: from all."""
        records = self._records
        if addresses:
            numbers = [_number(address) for address in addresses]
            records = records[np.isin(records["address"], numbers)]
        first = round((begin - self._start) / BIN_SECONDS)
        count = round((end - begin) / BIN_SECONDS)
        inside = (records["bin"] >= first) & (records["bin"] < first + count)
        bins = records["bin"][inside].astype(np.int64) - first
        return np.bincount(bins, records["received"][inside], count).astype(np.float64)

    def longest_pause(self, begin: float, end: float) -> float:
        """Longest stall of the machine, and thus of the line, in seconds."""
        return max((seconds for moment, seconds in self._pauses if begin < moment < end), default=0)

    def calm(self, begin: float, end: float, longest: float, after: float) -> npt.NDArray[np.bool_]:
        """For each bin, whether a window may begin there without a stall's doing.

        While the machine stands still the emulated line does, too, and what was on its way arrives
        together afterwards: within ``after`` seconds of a stall of more than ``longest``. A window
        that begins before the stall has the lull in it as well, so it counts.
        """
        calm = np.ones(round((end - begin) / BIN_SECONDS), np.bool_)
        for moment, seconds in self._pauses:
            if seconds > longest:
                first, last = moment - seconds - begin, moment + after - begin
                calm[max(0, int(first / BIN_SECONDS)) : max(0, int(last / BIN_SECONDS) + 1)] = False
        return calm

    def span(self) -> tuple[float, float]:
        """Wall times of the first and after the last packet."""
        bins = self._records["bin"]
        first, last = int(bins[0]), int(bins[-1]) + 1
        return self._start + first * BIN_SECONDS, self._start + last * BIN_SECONDS


def windows(bins: Bins, seconds: float) -> Bins:
    """Bytes in every window of so many seconds; empty when the bins are fewer."""
    width = round(seconds / BIN_SECONDS)
    if len(bins) < width:
        return np.zeros(0)
    sums = np.concatenate(([0.0], np.cumsum(bins)))
    return sums[width:] - sums[:-width]


def _number(address: str) -> int:
    number = 0
    for part in address.split("."):
        number = number * 256 + int(part)
    return number
