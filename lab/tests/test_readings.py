"""What a meter's records say where the machine stood still."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from headgate_lab.bed.readings import Readings, windows

_RATE = 1000.0
"""Bytes in each bin."""


def _readings(folder: Path) -> Readings:
    """20 s at a constant rate from t = 0; a stall from 10.0 to 10.5, then 0.2 s of it at once."""
    received = np.full(2000, _RATE)
    received[1000:1050] = 0
    received[1050] = 21 * _RATE
    records = np.zeros(2000, [("bin", "<u4"), ("address", "<u4"), ("in", "<u4"), ("out", "<u4")])
    records["bin"], records["in"] = np.arange(2000), received
    (folder / "records").write_bytes((0).to_bytes(8, "little") + records.tobytes())
    (folder / "pauses").write_text("3.000 0.0060\n10.500 0.5000\n")
    return Readings(folder / "records", folder / "pauses")


def test_windows_that_begin_in_a_stall_can_be_left_out(tmp_path: Path) -> None:
    readings = _readings(tmp_path)
    seconds = windows(readings.received(0.0, 20.0), 1.0)
    calm = readings.calm(0.0, 20.0, longest=0.02, after=0.1)
    assert seconds.max() == 120 * _RATE
    assert seconds[calm[: len(seconds)]].max() == 100 * _RATE
    assert np.flatnonzero(~calm).tolist() == list(range(1000, 1061))


def test_a_stall_at_the_edge_leaves_out_no_other_bins(tmp_path: Path) -> None:
    readings = _readings(tmp_path)
    assert readings.calm(10.2, 12.0, longest=0.02, after=0.1).sum() == 180 - 41
    assert readings.calm(0.0, 5.0, longest=0.02, after=0.1).all()
    assert readings.calm(12.0, 20.0, longest=0.02, after=0.1).all()
