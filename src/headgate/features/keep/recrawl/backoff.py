"""When a page is fetched again that failed, redirects or is gone."""

from __future__ import annotations

from headgate.features.keep.recrawl.kept_site import DAY_SECONDS
from headgate.frontier.retries import pause_after

__all__ = ["not_before"]

_LONGER = 4.0
_LONGEST = 3 * DAY_SECONDS
_REDIRECT = 7 * DAY_SECONDS


def not_before(
    asked: float, *, missing: int, failing: int, redirects: bool, left_out: bool, shortest: float
) -> float:
    """When a page is fetched again that failed, redirects or is gone.

    A failed page is retried with exponential backoff, by a factor of four: from the shortest
    interval of its site up to three days. A page that was left out, as by robots.txt, is retried
    after a day, when that is fetched again; a redirect after a week; a page that is gone after 7,
    28 and 112 days (`gone_until`).

    Seconds since 1970; 0: at any time. ``missing``, ``failing``: looks in a row.

    >>> not_before(0.0, missing=0, failing=2, redirects=False, left_out=False, shortest=60.0)
    240.0
    """
    if gone := gone_until(asked, missing):
        return gone
    if not failing:
        return 0.0
    if redirects:
        return asked + _REDIRECT
    if left_out:
        return asked + DAY_SECONDS
    return asked + pause_after(failing, first=shortest, growth=_LONGER, longest=_LONGEST)


_GONE_DAYS = (7.0, 28.0, 112.0)
_GONE_LOOKS = 2


def gone_until(asked: float, missing: int) -> float:
    """When a page that is gone is fetched again: after 7 days, then 28, then every 112.

    A page is gone after two looks in a row with 404 or 410.

    When to fetch a page again that was missing in this many looks; 0: as any other.

    >>> [gone_until(0.0, missing) / 86_400 for missing in (1, 2, 3, 4, 5)]
    [0.0, 7.0, 28.0, 112.0, 112.0]
    """
    if missing < _GONE_LOOKS:
        return 0.0
    return asked + _GONE_DAYS[min(missing - _GONE_LOOKS, len(_GONE_DAYS) - 1)] * DAY_SECONDS
