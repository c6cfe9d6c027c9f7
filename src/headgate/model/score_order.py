"""One queue over all sites: how pages are admitted, and how far their order was kept."""

from __future__ import annotations

from typing import Self

import msgspec

from headgate.model.encoding import Tally
from headgate.model.errors import UserMistake

__all__ = ["ADMISSIONS", "LOOK_AHEAD", "SCORE", "QueueTally", "ScoreOrder", "ScoreOrderReport"]

SCORE = "score"
"""The order of a budget: the best page of all sites first."""
ADMISSIONS = ("shares", "estimates", "on-off")
LOOK_AHEAD = 6
"""maxd in Diligenti et al. 2004."""


class ScoreOrder(msgspec.Struct, frozen=True):
    """The settings of the common queue."""

    admission: str = ADMISSIONS[0]
    look_ahead: int = LOOK_AHEAD
    """How many of the best pages are considered for one that can start."""

    @property
    def enforced(self) -> bool:
        """Whether the bandwidth is enforced, not only estimated."""
        return self.admission == ADMISSIONS[0]

    @classmethod
    def named(cls, order: str, admission: str | None = None, look_ahead: int | None = None) -> Self:
        """From the words of a site file."""
        if order != SCORE:
            raise UserMistake(f"{order!r} is no order of all sites together; write {SCORE!r}")
        if admission is not None and admission not in ADMISSIONS:
            known = ", ".join(map(repr, ADMISSIONS))
            raise UserMistake(f"{admission!r} is not an admission; write one of {known}")
        if look_ahead is not None and look_ahead < 1:
            raise UserMistake("to look ahead at less than one page lets none in; write 1 or more")
        return cls(admission or ADMISSIONS[0], look_ahead or LOOK_AHEAD)


class QueueTally(msgspec.Struct, frozen=True):
    """What became of a site's pages in the common queue."""

    begun: Tally = 0
    out_of_order: Tally = 0
    """Started while a better page of another site had to wait."""
    places: Tally = 0
    """Sum of the places by which they jumped the queue."""

    def __add__(self, later: Self) -> Self:
        """Of two legs together."""
        return type(self)(
            self.begun + later.begun,
            self.out_of_order + later.out_of_order,
            self.places + later.places,
        )


class ScoreOrderReport(msgspec.Struct, frozen=True):
    """The common queue of a run."""

    admission: str
    look_ahead: int
    begun: int
    out_of_order: int
    places: int
    pages: int
    """Pages of text that were judged by a topic."""
    relevant: int
