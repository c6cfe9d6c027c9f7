"""One queue over all sites: how pages are let in, and how far their order was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import msgspec

from headgate.model.errors import UserMistake

__all__ = ["ADMISSIONS", "LOOK_AHEAD", "SCORE", "QueueTally", "ScoreOrder", "ScoreOrderReport"]

SCORE = "score"
"""The order of a budget: the best page of all sites first."""
ADMISSIONS = ("shares", "estimates", "on-off")
LOOK_AHEAD = 6
"""maxd in Diligenti et al. 2004."""


@dataclass(frozen=True, slots=True)
class ScoreOrder:
    """What was asked for."""

    admission: str = ADMISSIONS[0]
    look_ahead: int = LOOK_AHEAD
    """How many of the best are looked at for one that there is room for."""

    @property
    def enforced(self) -> bool:
        """Whether anything holds the line to its limit."""
        return self.admission == ADMISSIONS[0]

    @classmethod
    def named(cls, order: str, admission: str | None = None, look_ahead: int | None = None) -> Self:
        """As people write it."""
        if order != SCORE:
            raise UserMistake(f"{order!r} is no order of all sites together; write {SCORE!r}")
        if admission is not None and admission not in ADMISSIONS:
            known = ", ".join(map(repr, ADMISSIONS))
            raise UserMistake(f"{admission!r} is no way to let pages in; write one of {known}")
        if look_ahead is not None and look_ahead < 1:
            raise UserMistake("to look ahead at less than one page lets none in; write 1 or more")
        return cls(admission or ADMISSIONS[0], look_ahead or LOOK_AHEAD)


class QueueTally(msgspec.Struct, frozen=True):
    """How a site's pages came through the queue."""

    begun: int = 0
    out_of_order: int = 0
    """Begun while a better page of another site stayed in line for want of room."""
    places: int = 0
    """How many better ones those passed over, in all."""


class ScoreOrderReport(msgspec.Struct, frozen=True):
    """Of a run whose sites had one queue."""

    admission: str
    look_ahead: int
    begun: int
    out_of_order: int
    places: int
    pages: int
    """Of text, judged by a topic."""
    relevant: int
