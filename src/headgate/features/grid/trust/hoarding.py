"""How much a node may hold, and for how long: no promise of its own counts. Pure.

A node says how many tasks it can run, and its heartbeats say that it goes on. Both may be made up,
so that others get nothing. So a volunteer's node may hold one task more than it has brought, and a
task that takes much longer than was expected goes to another node that has nothing to do: first
after four times the expected time, then after eight, so that a site which is larger than anybody
thought is done in the end. The operator's own nodes, those without a group, are believed.
"""

from __future__ import annotations

__all__ = ["is_overdue", "is_own", "most_held"]

_HELD_PER_SLOT = 4
"""Tasks of a node for each slot, including results that wait to be delivered."""
_TIMES_EXPECTED = 4.0
_LEAST_LEASES = 10.0
"""Whatever was expected: a lease is what a node needs to be heard of."""


def is_own(group: str) -> bool:
    """Whether a node is the operator's own, by the group that it was invited to."""
    return not group


def most_held(slots: int, stored: int, group: str) -> int:
    """Tasks that a node may hold, given the results of it that are ``stored``.

    >>> [most_held(1000, stored, "volunteers") for stored in (0, 1, 2, 5000)], most_held(2, 0, "")
    ([1, 2, 3, 4000], 8)
    """
    most = _HELD_PER_SLOT * slots
    return most if is_own(group) else min(most, 1 + stored)


def is_overdue(held_seconds: float, expected_seconds: float, before: int, lease: float) -> bool:
    """Whether a task should go to another node. ``before``: how often it went for that reason.

    >>> [is_overdue(seconds, 1000.0, 0, 60.0) for seconds in (3999, 4001)]
    [False, True]
    >>> is_overdue(4001, 1000.0, 1, 60.0), is_overdue(300, 0.0, 0, 60.0)
    (False, False)
    """
    patience = max(_TIMES_EXPECTED * expected_seconds, _LEAST_LEASES * lease)
    return held_seconds > patience * 2.0**before
