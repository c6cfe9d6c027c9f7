"""Which site to move when one process of a machine has nothing to do and another has too much.

The size of a site is not known before it is crawled, so sites are divided by count, and the parts
turn out unequal: a move is worth what two processes then do at the same time. That is the smaller
of what goes and what stays, so the best site to move has nearest to half of the work left. What it
costs is a stop, the journal read again and new connections, some tenths of a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

__all__ = ["Move", "Place", "best_move", "worth_a_look"]

_WORTH_SECONDS = 0.5
"""Done beside each other; what a move costs, with as much again for estimates that are wrong."""
_BUSY, _IDLE = 0.6, 0.3
"""Cores. Between them nobody gives and nobody takes, so no site goes to and fro."""


class Place(msgspec.Struct, frozen=True):
    """A process and what runs in it."""

    left: Mapping[str, float]
    """By site, bytes that are likely still to come."""
    fixed: frozenset[str] = frozenset()
    """Sites that stay where they are."""
    cores: float | None = None
    """That it keeps busy; None: it is too early to tell."""
    rate: float = 0.0
    """Bytes per second that it gets through."""

    @property
    def idle(self) -> bool:
        return _idle(len(self.left), self.cores)

    @property
    def busy(self) -> bool:
        return _busy(len(self.left), self.cores) and self.rate > 0


class Move(msgspec.Struct, frozen=True):
    site: str
    source: int
    """Places by their index."""
    target: int


def _idle(sites: int, cores: float | None) -> bool:
    return not sites or (cores is not None and cores < _IDLE)


def _busy(sites: int, cores: float | None) -> bool:
    return sites > 1 and (cores or 0.0) >= _BUSY


def worth_a_look(places: Sequence[tuple[int, float | None]]) -> bool:
    """Whether there may be a move at all, by sites and busy cores of each place: of thousands of
    sites, what each has left is not added up again and again."""
    return any(_idle(*place) for place in places) and any(_busy(*place) for place in places)


def best_move(places: Sequence[Place]) -> Move | None:
    """The one that lets the most be done at the same time; None: none is worth it.

    >>> best_move([Place({"a": 9e6, "b": 4e6, "c": 1e6}, cores=1.0, rate=1e6), Place({})])
    Move(site='a', source=0, target=1)
    """
    idle = [index for index, place in enumerate(places) if place.idle]
    if not idle:
        return None
    target = min(idle, key=lambda index: len(places[index].left))
    best, most_seconds = None, _WORTH_SECONDS
    for source, place in enumerate(places):
        whole = sum(place.left.values())
        for site in sorted(place.left.keys() - place.fixed) if place.busy else ():
            together = min(place.left[site], whole - place.left[site])
            if together > most_seconds * place.rate:
                best, most_seconds = Move(site, source, target), together / place.rate
    return best
