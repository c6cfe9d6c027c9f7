"""Windows and connections: how much a server may send ahead, and how many fetches a site needs."""

from __future__ import annotations

import math

import msgspec

from headgate.bandwidth.server_tally import ServerTally

__all__ = [
    "FRAME_HEADERS",
    "LEAST_WINDOW",
    "SEGMENT",
    "ConnectionDemand",
    "Opening",
    "connections",
    "fetches_at_once",
    "fits",
    "head_quantum",
    "in_crumbs",
    "opening",
    "read_quantum",
    "whole_segments",
    "wire_bytes",
]


# The receive window of a connection, and how many connections a site needs.
#
# A byte limit on reads holds the line only as far as the receive windows allow: what a window has
# announced may come at any moment. So windows are kept as narrow as the site's share lets them be:
#
#     window = 1.25 × share × (round trip + loop latency) / (connections − 1) + one segment
#
# One connection less than there are, because one of them is always between two responses. The loop
# latency stands for the time between credit and read. A window never goes below two segments, and
# connections are added, up to the most that politeness allows, until a window is no lump:
#
# - at most LUMP_SECONDS of the total, since what one payment releases arrives at once;
# - at most SURPRISE × √(total × response / round trip), but three segments in any case. Of
#   total × round trip / response responses nobody knows the length before they arrive, and each may
#   bring a window more or less than it paid for. Errors that do not depend on each other add up as
#   a root, and what they add up to is what a second of the line can be over its limit.
#
# On a fast line, a window is at least 1 ms of the total (a trifle), unless it would be a lump by
# the second rule: that does not harm the line, and pages need fewer reads. With ``smooth``, for
# other users of the line, there is no such minimum, and windows are narrower still, as far as
# POLITE_STREAMS allows.
#
# Measured on Linux 6.18 with full segments: a connection takes in about 1.25 times the SO_RCVBUF
# set before connect, in whole segments. All of this but one segment is announced at once; the last
# one follows when the first have arrived, a round trip later, read or not. With SO_RCVBUF set, the
# kernel does not widen the window by itself.


SEGMENT = 1448
"""Bytes of a full TCP segment on Ethernet, with time stamps."""
FRAME_HEADERS = 66
"""Ethernet 14, IPv4 20, TCP 32. IPv6 is 20 longer and counted 20 short."""
LEAST_WINDOW = 2 * SEGMENT
WIDEST_WINDOW = 4_000_000

_FIRST_SEGMENT = 1460
_LEAST_BUFFER = 3200
"""With less than two of the first, the first announcement, rounded to segments without time stamps,
is only one. A tenth more, since segments that are not full, as of a TLS handshake, make the kernel
think that less fits; with half more it would be three."""

_FEW_CRUMBS = 8
"""Fewer than a server may send before it gets an acknowledgement."""
LUMP_SECONDS = 0.03
SURPRISE = 0.01
"""√seconds. Chosen on the pages of `bench.bandwidth`, where the worst second is 2 to 5 % over the
limit with it from 500 KB/s on."""
SMOOTH_LUMP_SECONDS = 0.01
TRIFLE_SECONDS = 0.001
POLITE_STREAMS = 6
LOOP_LATENCY_SECONDS = 0.02
MARGIN = 1.25
ANNOUNCED_PER_BUFFER = 1.25


def wire_bytes(payload: float) -> float:
    """Bytes on the line for so many bytes of a TCP stream.

    >>> wire_bytes(1448), wire_bytes(1449)
    (1514, 1581)
    """
    return payload + FRAME_HEADERS * math.ceil(payload / SEGMENT)


def in_crumbs(payload: float, arrived: float) -> bool:
    """Whether the payload came in segments so small that windows do not bound them.

    >>> in_crumbs(payload=300, arrived=366), in_crumbs(payload=10, arrived=10 * 67)
    (False, True)
    """
    headers = arrived - payload
    return headers > max(payload, _FEW_CRUMBS * FRAME_HEADERS)


class Opening(msgspec.Struct, frozen=True, gc=False):
    """How to open a connection."""

    window: int
    """Bytes that the server may have sent and we not read; a multiple of a segment."""

    @property
    def buffer(self) -> int:
        """The SO_RCVBUF that makes Linux announce this window."""
        if self.window < LEAST_WINDOW:
            return self.window
        return max(int(self.window / ANNOUNCED_PER_BUFFER), _LEAST_BUFFER)

    @property
    def announced(self) -> int:
        """What Linux announces when the connection begins: whole segments without time stamps.

        >>> Opening(3 * 1448).announced, Opening(4 * 1448).announced
        (2920, 4380)
        """
        if self.window < LEAST_WINDOW:
            return self.window
        return self.buffer // _FIRST_SEGMENT * _FIRST_SEGMENT


class ConnectionDemand(msgspec.Struct, frozen=True, gc=False):
    """What the connections of a site should carry. Bytes, seconds."""

    total: float
    share: float
    """The site's part of the total, per second."""
    rtt: float
    response: float
    """Wire bytes expected of one."""
    most: int
    """Most connections, for politeness."""
    smooth: bool = False
    under_way: int = 0
    """Responses that share what is in flight already."""

    @property
    def rate(self) -> float:
        return min(self.share, self.total)

    @property
    def standing(self) -> float:
        """Bytes that have to be in flight to use the share."""
        return MARGIN * self.rate * (self.rtt + LOOP_LATENCY_SECONDS)


def opening(demand: ConnectionDemand) -> Opening | None:
    """The window for one connection of a site; None when nothing limits it.

    >>> # 150 KB over six connections
    >>> opening(ConnectionDemand(1e6, 1e6, 0.1, response=5e6, most=100))
    Opening(window=27512)
    >>> opening(ConnectionDemand(1e6, 1e6, 0.1, response=5e6, most=100, under_way=35))
    Opening(window=7240)
    >>> opening(ConnectionDemand(1e6, 1e6, 0.1, response=14e3, most=100))  # lengths are a surprise
    Opening(window=4344)
    >>> opening(ConnectionDemand(1e6, 1e6, 0.1, response=14e3, most=8))
    Opening(window=23168)
    >>> opening(ConnectionDemand(1e5, 1e3, 0.1, response=14e3, most=8))
    Opening(window=2896)
    >>> opening(ConnectionDemand(5e7, 5e5, 1e-4, response=14e3, most=8))  # a trifle of 50 MB/s
    Opening(window=50680)
    >>> opening(ConnectionDemand(1e6, 2e5, 0.1, response=5e6, most=8, smooth=True))
    Opening(window=10136)
    """
    if demand.rate == math.inf:
        return None
    lump, standing = _lump(demand), demand.standing
    wanted = standing / (_streams(demand, lump, standing) - 1) + SEGMENT
    if not demand.smooth:
        wanted = max(wanted, min(lump, _trifle(demand.total)))
    segments = math.ceil(min(max(wanted, LEAST_WINDOW), WIDEST_WINDOW) / SEGMENT)
    return Opening(segments * SEGMENT)


NARROWEST = Opening(1152)
"""The least that Linux announces: a server sends two segments."""


def fits(window: int | None, wanted: Opening | None) -> bool:
    """Whether a connection with this window (None: the kernel's own) is still the right one."""
    if wanted is None or window is None:
        return (wanted is None) == (window is None)
    return wanted.window <= 2 * window and window <= 2 * wanted.window


def connections(demand: ConnectionDemand) -> int:
    """How many connections use up a site's share, within politeness.

    A response longer than the window takes a round trip per window, a shorter one a round trip in
    all.

    >>> connections(ConnectionDemand(1e6, 1e6, 0.1, 5e6, most=50))
    7
    >>> connections(ConnectionDemand(1e6, 1e6, 0.1, 11e3, most=50))
    35
    >>> connections(ConnectionDemand(1e5, 1e3, 0.1, 11e3, most=50))
    2
    """
    wanted = opening(demand)
    if wanted is None:
        return demand.most
    per_round_trip = min(demand.response, wire_bytes(wanted.window - SEGMENT))
    return min(1 + math.ceil(demand.standing / max(per_round_trip, 1.0)), demand.most)


def head_quantum(total: float, *, sealed: bool = False) -> int:
    """How much is read before what it opens of the window is paid, so that the head and the length
    are known early.

    One segment; more on a fast line, up to a trifle, which is enough for most pages. Nothing on a
    line so slow that the least window is a lump already: another segment would make it one and a
    half. Nothing but a trifle if the head is ``sealed`` by TLS, since it cannot be read before its
    record is complete.

    >>> head_quantum(50_000.0), head_quantum(500_000.0), head_quantum(50_000_000.0)
    (0, 1448, 50000)
    >>> head_quantum(500_000.0, sealed=True), head_quantum(50_000_000.0, sealed=True)
    (0, 50000)
    """
    trifle = int(TRIFLE_SECONDS * min(total, WIDEST_WINDOW / TRIFLE_SECONDS))
    if sealed:
        return trifle if trifle >= SEGMENT else 0
    return 0 if LUMP_SECONDS * total < LEAST_WINDOW else max(SEGMENT, trifle)


def read_quantum(total: float, share: float) -> int:
    """How much is read at once, so that no payment is a lump on the line or of the site's rate; a
    trifle of a fast line is none.

    >>> read_quantum(1e6, 1e6), read_quantum(1e6, 1e5), read_quantum(5e7, 5e5)
    (10000, 4000, 50000)
    >>> read_quantum(math.inf, 1e5)  # only the site is limited
    4000
    """
    wanted = min(total * 0.01, max(share * 0.04, _trifle(total)))
    return max(SEGMENT, int(min(wanted, WIDEST_WINDOW)))


def whole_segments(waiting: int, quantum: int) -> int:
    """How much to read of what waits: a quantum, and the part of a segment that would be left.

    A part of a segment left in the kernel occupies the space of the whole, and the window stays
    closed by as much although it was paid.

    >>> whole_segments(120 + 3 * 1448, quantum=1448), whole_segments(1000, quantum=1448)
    (1568, 1000)
    """
    left = max(0, waiting - quantum) // SEGMENT * SEGMENT
    return waiting - left


def _streams(demand: ConnectionDemand, lump: float, standing: float) -> int:
    """Connections of long responses: at least two, and so many that no window is a lump."""
    streams = _streams_for(standing, lump)
    if demand.smooth:
        smoother = _streams_for(standing, SMOOTH_LUMP_SECONDS * demand.total)
        streams = max(streams, min(smoother, POLITE_STREAMS))
    return max(2, demand.under_way, min(streams, demand.most))


def _trifle(total: float) -> float:
    """0 without a limit: all of a site's rate would be a trifle."""
    return TRIFLE_SECONDS * total if total < math.inf else 0.0


def _lump(demand: ConnectionDemand) -> float:
    """The widest window that is no lump, if there are enough connections."""
    lump = LUMP_SECONDS * demand.total
    if demand.rtt > 0:
        surprise = SURPRISE * math.sqrt(demand.total * demand.response / demand.rtt)
        lump = min(lump, max(surprise, 3 * SEGMENT))
    return lump


def _streams_for(standing: float, lump: float) -> int:
    return 1 + math.ceil(standing / (max(LEAST_WINDOW, lump) - SEGMENT))


_MARGIN = 1.25
"""Responses differ, and a few connections are always between two of them."""


def fetches_at_once(
    by_windows: int, share: float, response: float, tally: ServerTally | None
) -> int:
    """How many concurrent fetches a site needs to use its share.

    `connections` says how many connections the round trip needs; the server's own time is not in
    that. A server that takes half a second per page serves a page per half second and connection,
    however near it is. By Little's law

        fetches at once = share × seconds per response / bytes per response

    with the seconds in which we held a response back for our own credit left out: counted in, every
    connection more would make responses slower and ask for the next. The larger of both numbers
    counts.

    A server slower than its share slows down with concurrency, so the number grows up to the limit
    of politeness, which the caller applies; the plan then learns the server's speed and gives the
    share to others.

    For a share in bytes per second, on responses of so many wire bytes.

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
