"""The batches of BeeBot-EDG (Pechnikov, Chernobrovkin and Nwohiri 2017), a list per client.

1. sites by size, clients by performance, both in falling order; 2. the sum of the sizes; 3. each
client's share of it by performance; 4. the clients in turn take the next largest site as long as
they stay within their share: the first that exceeds it goes back, and the client stops; 5. what
remains supplements the batches "in the reverse order, from the smallest to the largest".

Batch job 1 takes pages for the size, batch job 2 the mean of earlier scan times. Step 5 can be read
in three ways (`Remainder`); the first is the literal one. Where the largest site exceeds every
share no client takes any in step 4, and step 5 deals all of them."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from headgate.placing.partition import FloatArray, Owners, longest_first

__all__ = ["Remainder", "pechnikov"]

_ROUNDING = 1 + 1e-12


class Remainder(StrEnum):
    """Which machine gets what remains, smallest first."""

    CYCLIC = "cyclic"
    """One each, the slowest client first, and again."""
    SHARE = "share"
    """Each client in turn, the slowest first, as long as it stays within its share; the last, which
    is the fastest, takes what is left."""
    EARLIEST = "earliest"
    """The client that would end first with it."""


def pechnikov(
    sizes: FloatArray, speeds: FloatArray, remainder: Remainder = Remainder.CYCLIC
) -> Owners:
    """
    >>> pechnikov(np.array([5.0, 3.0, 3.0, 1.0]), np.array([1.0, 1.0])).tolist()
    [0, 1, 1, 1]
    """
    clients = [int(client) for client in longest_first(speeds)]
    batches = _Batches(sizes, sizes.sum() * speeds / speeds.sum() * _ROUNDING)
    for client in clients:
        batches.fill(client)
    batches.waiting.reverse()
    clients.reverse()
    if remainder is Remainder.SHARE:
        for client in clients[:-1]:
            batches.fill(client)
    for place, site in enumerate(batches.waiting):
        match remainder:
            case Remainder.CYCLIC:
                client = clients[place % len(clients)]
            case Remainder.SHARE:
                client = clients[-1]
            case Remainder.EARLIEST:
                client = int(np.argmin((batches.taken + sizes[site]) / speeds))
        batches.give(site, client)
    return batches.owners


class _Batches:
    def __init__(self, sizes: FloatArray, shares: FloatArray) -> None:
        self._sizes, self._shares = sizes, shares
        self.owners = np.zeros(len(sizes), dtype=np.int_)
        self.taken = np.zeros(len(shares))
        self.waiting = [int(site) for site in longest_first(sizes)]

    def give(self, site: int, client: int) -> None:
        self.owners[site] = client
        self.taken[client] += self._sizes[site]

    def fill(self, client: int) -> None:
        """The first of those waiting that exceeds the share ends it."""
        taken = 0
        for site in self.waiting:
            if self.taken[client] + self._sizes[site] > self._shares[client]:
                break
            self.give(site, client)
            taken += 1
        del self.waiting[:taken]
