"""One connection: sends requests and receives responses, metered piece by piece.

The socket is ours, and the event loop only says when it is readable, so nothing is read that the
tap did not allow. (Measured on loopback, an asyncio BufferedProtocol costs the same, 16 µs for a
page of 16 KB, but a transport reads whatever is in the kernel.)

Life: open → (exchange → idle)* → closed. An idle connection that becomes readable has ended or
received unrequested data; either way it is closed. Under a limit, the reader is removed from the
loop while a claim waits for credit, and time-outs are suspended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from headgate.fetching.body import Body
from headgate.fetching.channel import Buffers, Channel
from headgate.fetching.crumbs import CrumbTurns
from headgate.fetching.exchange import Exchange
from headgate.fetching.faults import FetchFault
from headgate.fetching.limits import Limits
from headgate.fetching.metering import Meter
from headgate.fetching.origin import Origin
from headgate.fetching.tap import Tap
from headgate.model.fetch import FailureKind
from headgate.traffic.window import wire_bytes

__all__ = ["Connection", "Surroundings"]

_AT_ONCE = 256 * 1024
_QUIET_SECONDS = 0.2
_TAIL_SECONDS = 0.004
_LOOKS = 6


class Surroundings:
    """What all connections of a loop share."""

    def __init__(self, limits: Limits, meter: Meter) -> None:
        self.limits = limits
        self.meter = meter
        self.crumbs = CrumbTurns(meter)
        self.buffers = Buffers()
        self.dropped: Callable[[Connection], None] = lambda _: None
        """Called with idle connections that ended."""


class Connection:
    """``_exchange`` is the current one; None: idle."""

    __slots__ = (
        "_around",
        "_changes",
        "_exchange",
        "address",
        "channel",
        "closed",
        "idle_since",
        "origin",
        "proxied",
        "served",
    )

    def __init__(self, around: Surroundings, origin: Origin, channel: Channel) -> None:
        self.origin = origin
        self.channel = channel
        self.address: str = channel.line.sock.getpeername()[0]
        self.closed = False
        self.proxied = False
        """Whether the address is a proxy's."""
        self.idle_since = 0.0
        self.served = 0
        """Number of exchanges begun."""
        self._around = around
        self._exchange: Exchange | None = None
        self._changes = 0
        """The meter's change counter that the exchange has seen."""
        channel.watch(self._on_readable)

    def start(self, request_head: bytes, exchange: Exchange) -> asyncio.Future[None]:
        """Send a request; the future completes with the response, or raises a FetchFault."""
        exchange.over = over = asyncio.get_running_loop().create_future()
        exchange.sent = exchange.latest = time.monotonic()
        self._exchange = exchange
        self._changes = self._around.meter.changes
        self.served += 1
        if self.closed:
            self._end("closed by the server while idle")
            return over
        try:
            self.channel.send(request_head)
        except OSError as error:
            self._end(error.strerror or str(error))
        return over

    def look_after(self, now: float) -> None:
        """Called regularly: checks time-outs and payment of the current exchange.

        Reads before it decides on a time-out: data that arrived while the loop was busy is not
        late; and uvloop reports a reset only once, which is lost if unread data is read then.
        """
        exchange = self._exchange
        if exchange is None:
            return
        quiet = not exchange.waiting_since and now - exchange.latest > _QUIET_SECONDS
        if quiet and self.channel.stirs():
            self._on_readable()
            return
        fault = exchange.overdue(self._around.limits, now)
        if fault is not None:
            self._fail(exchange, fault)
        elif exchange.tap is not None:
            exchange.tap.reconcile()
            self._gives_way(exchange, exchange.tap)

    def close(self) -> None:
        """Close the connection; its current exchange is settled as cut off."""
        if self.closed:
            return
        self.closed = True
        if self._exchange is not None:
            self._settle(self._exchange, whole=False)
            self._exchange = None
        self.channel.close()

    def _on_readable(self) -> None:
        exchange = self._exchange
        if exchange is None:
            self._receive(_AT_ONCE)
            return
        if self._changes != self._around.meter.changes:
            self._follow_rates(exchange)
        if exchange.tap is None:
            self._receive(_AT_ONCE)
            return
        amount = exchange.tap.allowance(self._resume)
        if self._gives_way(exchange, exchange.tap):
            return
        if amount:
            self._receive(amount)
        else:
            exchange.waiting_since = time.monotonic()
            self.channel.look_away(crumbs=exchange.tap.crumbs)
            self._guard(exchange.tap, exchange.waiting_since, look=0)

    def _guard(self, tap: Tap, since: float, look: int) -> None:
        delay = _TAIL_SECONDS * 2**look + (self.channel.line.rtt if look == 1 else 0.0)
        asyncio.get_running_loop().call_later(delay, self._look_at_wait, tap, since, look)

    def _look_at_wait(self, tap: Tap, since: float, look: int) -> None:
        """During a wait for credit: trigger delayed acknowledgements, and check whether crumbs
        arrive and what they cost, for a thousand may come in a quarter second.

        First when the announced data has had time to arrive, then after the next segment, and then
        less and less often.
        """
        exchange = self._exchange
        if exchange is None or exchange.tap is not tap or exchange.waiting_since != since:
            return
        line = self.channel.line
        more = tap.reconcile()
        if self._gives_way(exchange, tap):
            return
        if tap.crumbs:
            line.shut()
        else:
            line.acknowledge()
        if look == 0 or (more and look < _LOOKS):
            self._guard(tap, since, look + 1)

    def _gives_way(self, exchange: Exchange, tap: Tap) -> bool:
        """Whether the response comes in crumbs while others have their turn; then it is aborted."""
        if not tap.crumbs or self._around.crumbs.has_turn(exchange):
            return False
        self._fail(exchange, FetchFault(FailureKind.CLOSED, "it comes in crumbs", later=True))
        return True

    def _follow_rates(self, exchange: Exchange) -> None:
        """A limit may have been set since the request was sent: then the rest of the response
        pays."""
        meter = self._around.meter
        self._changes = meter.changes
        if exchange.tap is None and not meter.governor.free(exchange.site):
            most = self._around.limits.connections_per_host
            line = self.channel.line
            sealed = self.channel.stream is not None
            exchange.tap = Tap(meter, exchange.site, line, exchange.expected, most, sealed=sealed)
            exchange.tap.forgive()

    def _resume(self, amount: int) -> None:
        exchange = self._exchange
        if exchange is not None:
            exchange.resume(time.monotonic())
            self.channel.look_again(self._on_readable)
            self._receive(amount)

    def _receive(self, most: int) -> None:
        try:
            size = self.channel.receive(most)
        except OSError as error:
            self._end(error.strerror or str(error))
            return
        exchange = self._exchange
        if size == 0:
            self._end("closed by the server")
        elif size > 0 and exchange is not None:
            self._take(exchange, size)
        elif size > 0 and not self.channel.intact(size):
            self._drop()

    def _take(self, exchange: Exchange, size: int) -> None:
        exchange.latest = now = time.monotonic()
        if not exchange.first_byte:
            exchange.first_byte = now
        try:
            done = self.channel.feed(exchange.reply, size)
        except FetchFault as fault:
            self._fail(exchange, fault)
            return
        if done:
            self._finish(exchange)
        elif exchange.tap is not None and not exchange.tap.foreseen:
            self._foresee(exchange.tap, exchange.reply.body)

    def _foresee(self, tap: Tap, body: Body | None) -> None:
        stream = self.channel.stream
        if body is not None and body.awaited is not None:
            tap.foresee(body.awaited)
        elif body is None and stream is not None and stream.is_short_record:
            tap.foresee_record(stream.awaited)

    def _end(self, how: str) -> None:
        """The connection ended: with the response, within it, or between two."""
        exchange = self._exchange
        if exchange is None:
            self._drop()
        elif exchange.reply.end():
            self._finish(exchange)
        else:
            untouched = self.served > 1 and not exchange.first_byte
            self._fail(exchange, FetchFault(FailureKind.CLOSED, how, untouched=untouched))

    def _drop(self) -> None:
        self.close()
        self._around.dropped(self)

    def _finish(self, exchange: Exchange) -> None:
        body = exchange.reply.body
        self._settle(exchange, whole=body is None or not body.truncated)
        self._exchange = None
        exchange.succeed()

    def _fail(self, exchange: Exchange, fault: FetchFault) -> None:
        self._settle(exchange, whole=fault.kind is FailureKind.CLOSED)
        self._exchange = None
        self.close()
        exchange.fail(fault)

    def under_way(self, site: str) -> int:
        """Wire bytes received so far of the site's current response."""
        return 0 if self._exchange is None or self._exchange.site != site else self.arrived

    def announced(self, site: str) -> int | None:
        """Wire bytes still to come of the site's current response, by its length; None: there is no
        response, or its length is not known."""
        exchange = self._exchange
        if exchange is None or exchange.site != site or exchange.reply.body is None:
            return None
        announced = exchange.reply.body.announced
        if announced is None:
            return None
        line = self.channel.line
        unread = line.arrivals()[0] - line.read
        return int(wire_bytes(max(announced - unread, 0)))

    @property
    def arrived(self) -> int:
        """Wire bytes received and not yet settled."""
        line = self.channel.line
        return line.arrivals()[1] - line.settled

    def _settle(self, exchange: Exchange, *, whole: bool) -> None:
        exchange.finished = time.monotonic()
        if exchange.tap is not None:
            exchange.wire_bytes = exchange.tap.close(whole=whole)
        else:
            exchange.wire_bytes = self.channel.line.settle()
