"""When a page that is gone is fetched again: after 7 days, then 28, then every 112.

A page is gone after two looks in a row with 404 or 410."""

from __future__ import annotations

from headgate.recrawl.kept_site import DAY_SECONDS

__all__ = ["gone_until"]

_GONE_DAYS = (7.0, 28.0, 112.0)
_GONE_LOOKS = 2


def gone_until(asked: float, missing: int) -> float:
    """When to fetch a page again that was missing in this many looks; 0: as any other.

    >>> [gone_until(0.0, missing) / 86_400 for missing in (1, 2, 3, 4, 5)]
    [0.0, 7.0, 28.0, 112.0, 112.0]
    """
    if missing < _GONE_LOOKS:
        return 0.0
    return asked + _GONE_DAYS[min(missing - _GONE_LOOKS, len(_GONE_DAYS) - 1)] * DAY_SECONDS
