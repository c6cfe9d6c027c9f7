"""Lends unused parts of sites' rates to other sites, from one look to the next.

It takes seconds to see how fast a server is; until then a site may hold a rate that it cannot use,
and the line would be idle. So what sites left unused at the last look goes, in order, to those that
used all they had, or had nothing. The rates then add up to more than the budget, but the total
still holds; as soon as a site uses its own rate again, it is no longer lent.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["lent_rates", "worth_lending"]

_WORTH_LENDING = 0.05
"""Part of the budget; less is not worth a change of rates."""


def worth_lending(rate: float, budget: float) -> bool:
    return rate >= _WORTH_LENDING * budget


def lent_rates(
    unused: Mapping[str, float], room: Mapping[str, float], budget: float
) -> dict[str, float]:
    """The loan of each site in bytes per second. ``unused`` is what sites leave of their rates,
    ``room`` what others could use in addition to theirs, in order.

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
