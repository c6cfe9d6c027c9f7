"""Places at hosts: which lease has which. No decisions.

A node whose lease was ended by others does not know it yet, and may fetch until the lease would
have expired: until then its place at the host stays taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, Protocol, TypeVar

from headgate.control.board_rows import LeaseRow

__all__ = ["HostPlaces"]


class _Guest(Protocol):
    @property
    def row(self) -> LeaseRow: ...

    @property
    def until(self) -> float: ...


Guest = TypeVar("Guest", bound=_Guest)


@dataclass(slots=True)
class HostPlaces(Generic[Guest]):
    _taken: dict[str, dict[int, Guest]] = field(default_factory=dict)
    """By host and place, including ``_leaving``."""
    _leaving: list[Guest] = field(default_factory=list)
    """Ended leases whose node may not know it."""

    def at(self, host: str) -> Sequence[Guest]:
        return list(self._taken.get(host, {}).values())

    def take(self, guest: Guest) -> None:
        self._taken.setdefault(guest.row.host, {})[guest.row.place] = guest

    def free(self, guest: Guest) -> None:
        """Free its place, unless another lease has it already."""
        places = self._taken.get(guest.row.host, {})
        if places.get(guest.row.place) is guest:
            del places[guest.row.place]
            if not places:
                del self._taken[guest.row.host]

    def leave(self, guest: Guest) -> None:
        """Free its place when its lease would have expired."""
        self._leaving.append(guest)

    def freed(self, now: float) -> list[str]:
        """Free the places of leases in ``_leaving`` that have expired; return their hosts."""
        left = [guest for guest in self._leaving if guest.until <= now]
        if left:
            self._leaving = [guest for guest in self._leaving if guest.until > now]
        for guest in left:
            self.free(guest)
        return [guest.row.host for guest in left]

    def in_the_way(self, host: str, places: int, gone: float) -> list[Guest] | None:
        """Who must go before one more comes to a host with so many ``places``, of leases that ended
        by ``gone``, the first that did first; None: the others take all places."""
        there = self._taken.get(host, {})
        beyond = len(there) + 1 - places
        if beyond <= 0:
            return []
        lapsed = sorted(
            (guest for guest in there.values() if guest.until <= gone), key=lambda one: one.until
        )
        return lapsed[:beyond] if len(lapsed) >= beyond else None

    def free_place(self, host: str) -> int:
        """The lowest, so it is below the number of places as long as one is free."""
        taken = self._taken.get(host, {})
        return next(number for number in count() if number not in taken)
