"""The instances: 99 sites by a power law, three or five clients with the paper's reference times.

Estimates may err (each true work is the estimate times a log-normal factor), and clients may have
drifted from their reference times. A clairvoyant bound, of the true works and speeds, is what
makespans are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.features.grid.placement.batches import (
    FloatArray,
    as_floats,
    lower_bound,
    reference_speeds,
)

__all__ = ["CELLS", "CLIENTS", "SITES", "Cell", "Instance", "instance"]

SITES = 99
CLIENTS = {
    3: as_floats([105.7, 110.4, 85.8]),
    5: as_floats([95.0, 84.6, 105.7, 110.4, 85.8]),
}
"""Seconds for the reference site of 800 pages."""


@dataclass(frozen=True, slots=True)
class Cell:
    clients: int
    alpha: float
    estimate_error: float = 0.0
    """σ of the logarithm."""
    client_drift: float = 0.0

    @property
    def exact(self) -> bool:
        return self.estimate_error == self.client_drift == 0

    @property
    def name(self) -> str:
        errors = "" if self.exact else f", σ {self.estimate_error:g} and {self.client_drift:g}"
        return f"{self.clients} clients, α {self.alpha:g}{errors}"


CELLS = (
    *(Cell(clients, alpha) for clients in CLIENTS for alpha in (1.9, 2.2)),
    *(
        Cell(clients, 2.2, *errors)
        for clients in CLIENTS
        for errors in ((0.2, 0.1), (0.6, 0.1), (0.6, 0.3))
    ),
)


@dataclass(frozen=True, slots=True)
class Instance:
    estimates: FloatArray
    speeds: FloatArray
    """By the reference site."""
    work: FloatArray
    true_speeds: FloatArray
    random_order: list[int]

    @property
    def bound(self) -> float:
        return lower_bound(self.work, self.true_speeds)


def instance(cell: Cell, seed: int, number: int) -> Instance:
    """The same numbers have the same sites in all cells of one α."""
    rng = np.random.default_rng((seed, number))
    estimates = (1 - rng.random(SITES)) ** (-1 / (cell.alpha - 1))
    order = rng.permutation(SITES).tolist()
    speeds = reference_speeds(CLIENTS[cell.clients])
    work = estimates * np.exp(cell.estimate_error * rng.standard_normal(SITES))
    drift = np.exp(cell.client_drift * rng.standard_normal(cell.clients))
    return Instance(estimates, speeds, work, speeds * drift, order)
