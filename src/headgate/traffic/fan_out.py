"""How many concurrent fetches a site needs to use its share.

`window.connections` says how many connections the round trip needs; the server's own time is not in
that. A server that takes half a second per page serves a page per half second and connection,
however near it is. By Little's law

    fetches at once = share × seconds per response / bytes per response

with the seconds in which we held a response back for our own credit left out: counted in, every
connection more would make responses slower and ask for the next. The larger of both numbers counts.

A server slower than its share slows down with concurrency, so the number grows up to the limit of
politeness, which the caller applies; the plan then learns the server's speed and gives the share to
others.
"""

from __future__ import annotations

import math

from headgate.traffic.server_tally import ServerTally

__all__ = ["fetches_at_once"]

_MARGIN = 1.25
"""Responses differ, and a few connections are always between two of them."""


def fetches_at_once(
    by_windows: int, share: float, response: float, tally: ServerTally | None
) -> int:
    """For a share in bytes per second, on responses of so many wire bytes.

    >>> slow_to_answer = ServerTally(requests=10, response_seconds=7.0, held_seconds=2.0)
    >>> fetches_at_once(2, 100_000.0, 11_000.0, slow_to_answer)
    6
    >>> fetches_at_once(2, 100_000.0, 11_000.0, None)
    2
    """
    if tally is None or not tally.requests or math.isinf(share):
        return by_windows
    seconds = max(tally.response_seconds - tally.held_seconds, 0.0) / tally.requests
    return max(by_windows, math.ceil(_MARGIN * share * seconds / max(response, 1.0)))
