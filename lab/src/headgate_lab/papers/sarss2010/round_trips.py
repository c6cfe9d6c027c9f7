"""Measured round trips between machines, in milliseconds (``data/SOURCE.txt``). The paper's King
matrix is not at hand; PlanetLab's stands in for it."""

from __future__ import annotations

import io
from importlib.resources import files

import numpy as np

from headgate.features.grid.placement.batches import FloatArray, as_floats

__all__ = ["NETS", "round_trips"]

NETS = ("planetlab490", "seattle99")
_LEAST = 0.1


def round_trips(net: str) -> FloatArray:
    """Symmetric."""
    data = files(__package__).joinpath("data", "round_trips.npz").read_bytes()
    with np.load(io.BytesIO(data)) as arrays:
        upper = as_floats(arrays[f"{net}_upper_ms"])
    machines = int(net[-3:] if net[-3:].isdigit() else net[-2:])
    whole = np.zeros((machines, machines))
    whole[np.triu_indices(machines, 1)] = np.maximum(upper, _LEAST)
    return as_floats(whole + whole.T)
