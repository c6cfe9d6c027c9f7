"""What some sites leave of their rates, lent to others from one look to the next.

How fast a server is shows within seconds; until then a site may hold a rate that it cannot use, and
the line would stand still for it. So what sites left unused at the last look goes, in order, to
those that used all they had, or had nothing. The rates then add up to more than the budget; the
total holds the line, and as soon as a site uses its own again nothing of it is lent any more.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["lent_rates", "worth_lending"]

_WORTH_LENDING = 0.05
"""Of the budget; less is not worth a change of rates."""


def worth_lending(rate: float, budget: float) -> bool:
    return rate >= _WORTH_LENDING * budget


def lent_rates(
    unused: Mapping[str, float], room: Mapping[str, float], budget: float
) -> dict[str, float]:
    """What each site is lent, bytes per second. ``unused`` says what sites leave of their rates,
    ``room`` what others could take beside theirs, in order.

    >>> lent_rates({"slow": 40.0}, {"a": 30.0, "slow": 90.0, "b": 50.0}, 100.0)
    {'a': 30.0, 'b': 10.0}
    """
    left = sum(unused.values())
    lent: dict[str, float] = {}
    for site, most in room.items():
        part = min(most, left) if site not in unused else 0.0
        if worth_lending(part, budget):
            lent[site] = part
            left -= part
    return lent
