"""How wide a connection is opened, and how many connections a site needs.

A byte limit on reads holds the line only as far as the receive windows allow: what a window has
announced may come at any moment. So windows are kept as narrow as the site's share lets them be:

    window = 1.25 × share × (round trip + loop latency) / (connections − 1) + one segment

One connection less than there are, because one of them is always between two responses. The loop
latency stands for the time between credit and read. A window never goes below three segments, and
connections are added until a window is at most LUMP_SECONDS of the total: what one payment releases
arrives at once, so the lump is what a second of the line can be over its limit. Where others wait
behind our lumps (``smooth``), windows are narrower still, as far as POLITE_STREAMS goes.

Measured on Linux 6.18 with full segments: a connection takes in about 1.25 times the SO_RCVBUF set
before connect, in whole segments. All of this but one segment is announced at once; the last one
follows when the first have arrived, a round trip later, read or not. With SO_RCVBUF set, the kernel
does not widen the window by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = [
    "FRAME_HEADERS",
    "LEAST_WINDOW",
    "SEGMENT",
    "Opening",
    "connections",
    "fits",
    "opening",
    "read_quantum",
    "whole_segments",
    "wire_bytes",
]

SEGMENT = 1448
"""Bytes of a full TCP segment on Ethernet, with time stamps."""
FRAME_HEADERS = 66
"""Ethernet 14, IPv4 20, TCP 32. IPv6 is 20 longer and counted 20 short."""
LEAST_WINDOW = 3 * SEGMENT
WIDEST_WINDOW = 4_000_000

_LEAST_BUFFER = 3 * 1460
"""With less, the first announcement, rounded to segments without time stamps, is only two."""

LUMP_SECONDS = 0.03
SMOOTH_LUMP_SECONDS = 0.01
POLITE_STREAMS = 6
LOOP_LATENCY_SECONDS = 0.02
MARGIN = 1.25
ANNOUNCED_PER_BUFFER = 1.25


def wire_bytes(payload: float) -> float:
    """What so many bytes of a TCP stream take on the line.

    >>> wire_bytes(1448), wire_bytes(1449)
    (1514, 1581)
    """
    return payload + FRAME_HEADERS * math.ceil(payload / SEGMENT)


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a connection."""

    window: int
    """Bytes the server may have sent and we not read; a multiple of a segment."""

    @property
    def buffer(self) -> int:
        """The SO_RCVBUF that makes Linux announce this window."""
        return max(int(self.window / ANNOUNCED_PER_BUFFER), _LEAST_BUFFER)


def opening(total: float, share: float, rtt: float, *, smooth: bool = False) -> Opening | None:
    """The window for one connection of a site; None when nothing limits it.

    >>> opening(1e6, 1e6, 0.1)  # 150 KB over six connections at work
    Opening(window=27512)
    >>> opening(1e5, 1e3, 0.1)
    Opening(window=4344)
    >>> opening(1e6, 2e5, 0.1, smooth=True)
    Opening(window=10136)
    """
    share = min(share, total)
    if math.isinf(share):
        return None
    streams = _streams(total, share, rtt, smooth=smooth)
    wanted = _standing(share, rtt) / (streams - 1) + SEGMENT
    segments = math.ceil(min(max(wanted, LEAST_WINDOW), WIDEST_WINDOW) / SEGMENT)
    return Opening(segments * SEGMENT)


def fits(window: int | None, wanted: Opening | None) -> bool:
    """Whether a connection with this window (None: the kernel's own) is still the right one."""
    if wanted is None or window is None:
        return (wanted is None) == (window is None)
    return wanted.window <= 2 * window and window <= 2 * wanted.window


def connections(
    total: float, share: float, rtt: float, response: float, *, smooth: bool = False
) -> int:
    """How many connections use up a site's share on responses of so many wire bytes.

    Politeness is the caller's: this is what the arithmetic asks for. A response longer than the
    window takes a round trip per window, a shorter one a round trip in all.

    >>> connections(1e6, 1e6, 0.1, 5e6), connections(1e6, 1e6, 0.1, 11e3)
    (7, 15)
    >>> connections(1e5, 1e3, 0.1, 11e3), connections(math.inf, math.inf, 0.1, 11e3)
    (2, 8)
    """
    wanted = opening(total, share, rtt, smooth=smooth)
    if wanted is None:
        return UNLIMITED_CONNECTIONS
    per_round_trip = min(response, wire_bytes(wanted.window - SEGMENT))
    return 1 + math.ceil(_standing(min(share, total), rtt) / max(per_round_trip, 1.0))


UNLIMITED_CONNECTIONS = 8


def read_quantum(total: float, share: float) -> int:
    """How much is read at once, so that no payment is a lump of the line's or the site's."""
    wanted = min(total * 0.01, share * 0.04)
    return max(LEAST_WINDOW, int(min(wanted, WIDEST_WINDOW)))


def whole_segments(waiting: int, quantum: int) -> int:
    """How much to read of what waits: a quantum, and the part of a segment that would be left.

    A part of a segment left in the kernel holds the room of all of it, and the window stays shut
    by as much although it was paid for.

    >>> whole_segments(120 + 3 * 1448, quantum=1448), whole_segments(1000, quantum=1448)
    (1568, 1000)
    """
    left = max(0, waiting - quantum) // SEGMENT * SEGMENT
    return waiting - left


def _standing(share: float, rtt: float) -> float:
    """Bytes that have to be on their way for the share to be used."""
    return MARGIN * share * (rtt + LOOP_LATENCY_SECONDS)


def _streams(total: float, share: float, rtt: float, *, smooth: bool) -> int:
    """Connections of long responses: at least two, and so many that no window is a lump."""
    needed = 1 + max(1, math.ceil(_standing(share, rtt) / _lump(total, LUMP_SECONDS)))
    if not smooth:
        return needed
    smoother = 1 + math.ceil(_standing(share, rtt) / _lump(total, SMOOTH_LUMP_SECONDS))
    return max(needed, min(smoother, POLITE_STREAMS))


def _lump(total: float, seconds: float) -> float:
    return max(LEAST_WINDOW, seconds * total) - SEGMENT
