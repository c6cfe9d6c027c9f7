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
import select
import ssl
from collections.abc import Callable

from headgate.bandwidth.receive_window import wire_bytes
from headgate.fetching.errors import FetchFault
from headgate.fetching.exchange import Exchange, Reply
from headgate.fetching.limits import Limits
from headgate.fetching.meter import Meter, ResponseMeter
from headgate.fetching.origin import Origin
from headgate.fetching.response import Body
from headgate.fetching.tcp import TcpConnection
from headgate.fetching.tiny_segments import TinySegmentLimiter
from headgate.fetching.tls import TlsStream
from headgate.model.fetch import FailureKind

__all__ = ["Channel", "Connection", "Surroundings"]

_AT_ONCE = 256 * 1024
_QUIET_SECONDS = 0.2
_TAIL_SECONDS = 0.004
_LOOKS = 6


class Surroundings:
    """What all connections of a loop share."""

    def __init__(
        self,
        limits: Limits,
        meter: Meter,
        now: Callable[[], float],
        dropped: Callable[[Connection], None],
    ) -> None:
        """``dropped`` is called with idle connections that ended."""
        self.limits = limits
        self.meter = meter
        self.now = now
        self.crumbs = TinySegmentLimiter(meter)
        self.buffers = Buffers()
        self.dropped = dropped


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
        exchange.sent = exchange.latest = self._around.now()
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
        elif exchange.response_meter is not None:
            exchange.response_meter.reconcile()
            self._gives_way(exchange, exchange.response_meter)

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
        if exchange.response_meter is None:
            self._receive(_AT_ONCE)
            return
        amount = exchange.response_meter.allowance(self._resume)
        if self._gives_way(exchange, exchange.response_meter):
            return
        if amount:
            self._receive(amount)
        else:
            exchange.waiting_since = self._around.now()
            self.channel.look_away(crumbs=exchange.response_meter.crumbs)
            self._guard(exchange.response_meter, exchange.waiting_since, look=0)

    def _guard(self, response_meter: ResponseMeter, since: float, look: int) -> None:
        delay = _TAIL_SECONDS * 2**look + (self.channel.line.rtt if look == 1 else 0.0)
        asyncio.get_running_loop().call_later(
            delay, self._look_at_wait, response_meter, since, look
        )

    def _look_at_wait(self, response_meter: ResponseMeter, since: float, look: int) -> None:
        """During a wait for credit: trigger delayed acknowledgements, and check whether crumbs
        arrive and what they cost, for a thousand may come in a quarter second.

        First when the announced data has had time to arrive, then after the next segment, and then
        less and less often.
        """
        exchange = self._exchange
        if (
            exchange is None
            or exchange.response_meter is not response_meter
            or exchange.waiting_since != since
        ):
            return
        line = self.channel.line
        more = response_meter.reconcile()
        if self._gives_way(exchange, response_meter):
            return
        if response_meter.crumbs:
            line.shut()
        else:
            line.acknowledge()
        if look == 0 or (more and look < _LOOKS):
            self._guard(response_meter, since, look + 1)

    def _gives_way(self, exchange: Exchange, response_meter: ResponseMeter) -> bool:
        """Whether the response comes in crumbs while others have their turn; then it is aborted."""
        if not response_meter.crumbs or self._around.crumbs.has_turn(exchange):
            return False
        self._fail(exchange, FetchFault(FailureKind.CLOSED, "it comes in crumbs", later=True))
        return True

    def _follow_rates(self, exchange: Exchange) -> None:
        """A limit may have been set since the request was sent: then the rest of the response
        pays."""
        meter = self._around.meter
        self._changes = meter.changes
        if exchange.response_meter is None and not meter.limiter.free(exchange.site):
            most = self._around.limits.connections_per_host
            line = self.channel.line
            sealed = self.channel.stream is not None
            exchange.response_meter = ResponseMeter(
                meter, exchange.site, line, exchange.expected, most, sealed=sealed
            )
            exchange.response_meter.forgive()

    def _resume(self, amount: int) -> None:
        exchange = self._exchange
        if exchange is not None:
            exchange.resume(self._around.now())
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
        exchange.latest = now = self._around.now()
        if not exchange.first_byte:
            exchange.first_byte = now
        try:
            done = self.channel.feed(exchange.reply, size)
        except FetchFault as fault:
            self._fail(exchange, fault)
            return
        if done:
            self._finish(exchange)
        elif exchange.response_meter is not None and not exchange.response_meter.foreseen:
            self._foresee(exchange.response_meter, exchange.reply.body)

    def _foresee(self, response_meter: ResponseMeter, body: Body | None) -> None:
        stream = self.channel.stream
        if body is not None and body.awaited is not None:
            response_meter.foresee(body.awaited)
        elif body is None and stream is not None and stream.is_short_record:
            response_meter.foresee_record(stream.awaited)

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
        exchange.finished = self._around.now()
        if exchange.response_meter is not None:
            exchange.wire_bytes = exchange.response_meter.close(whole=whole)
        else:
            exchange.wire_bytes = self.channel.line.settle()


class Buffers:
    """For received bytes, and for decrypted ones."""

    __slots__ = ("plain", "received")

    def __init__(self) -> None:
        self.received = bytearray(256 * 1024)
        self.plain = bytearray(64 * 1024)


class Channel:
    """Bytes in and out of one socket, with or without TLS.

    All channels of a loop receive into the same two buffers, since each piece is used up before the
    next is read: memory does not grow with connections.

    ``_unsent``: bytes that the kernel has not yet taken; a writer callback is registered
    meanwhile.
    """

    __slots__ = ("_buffers", "_loop", "_sock", "_unsent", "line", "stream")

    def __init__(self, line: TcpConnection, stream: TlsStream | None, buffers: Buffers) -> None:
        self.line = line
        self.stream = stream
        self._sock = line.sock
        self._buffers = buffers
        self._loop = asyncio.get_running_loop()
        self._unsent = b""

    def watch(self, on_readable: Callable[[], None]) -> None:
        self._loop.add_reader(self._sock, on_readable)

    def look_away(self, *, crumbs: bool) -> None:
        """Stop reading: data stays in the kernel; if it comes in ``crumbs``, outside of it.

        Unread data shrinks the window, so the kernel delays its acknowledgement by up to 40 ms. A
        near server takes that for a loss and retransmits; from a far one, paid bytes come late at
        first, and then all at once. So the low-water mark tells the kernel that nobody reads, which
        makes it acknowledge most segments at once; acknowledgements that it still holds back are
        triggered when the announced data has had time to arrive, and again after the next segment.
        """
        self._loop.remove_reader(self._sock)
        if crumbs:
            self.line.shut()
        else:
            self.line.expect_no_reader()

    def look_again(self, on_readable: Callable[[], None]) -> None:
        self.line.reopen()
        self.line.expect_reader()
        self.watch(on_readable)

    def send(self, data: bytes) -> None:
        """Send all of it, the rest later if necessary; raises OSError."""
        self._push(data if self.stream is None else self.stream.seal(data))

    def receive(self, most: int) -> int:
        """Read up to ``most`` bytes into the buffer; returns their number, -1 for none yet.

        0 is the end of the stream; OSError is raised for errors.
        """
        received = self._buffers.received
        try:
            size = self._sock.recv_into(received, min(most, len(received)))
        except (BlockingIOError, InterruptedError):
            return -1
        self.line.has_read(size)
        return size

    def stirs(self) -> bool:
        """Whether there is something to receive, also an end or an error."""
        glance = select.poll()
        glance.register(self._sock, select.POLLIN)
        return bool(glance.poll(0))

    def feed(self, reply: Reply, size: int) -> bool:
        """Pass the buffer's first ``size`` bytes to a reply; true when it is complete."""
        if self.stream is None:
            return reply.feed(self._buffers.received, size)
        plain = self._buffers.plain
        self.stream.feed(memoryview(self._buffers.received)[:size])
        while (count := self._unseal(self.stream)) > 0:
            if reply.feed(plain, count):
                return True
        return reply.end() if count < 0 else False

    def intact(self, size: int) -> bool:
        """Whether unrequested bytes are harmless: TLS may send session tickets at any time."""
        if self.stream is None:
            return False
        self.stream.feed(memoryview(self._buffers.received)[:size])
        try:
            return self._unseal(self.stream) == 0
        except FetchFault:
            return False

    def close(self) -> None:
        self._loop.remove_reader(self._sock)
        if self._unsent:
            self._loop.remove_writer(self._sock)
        self.line.close()

    def _unseal(self, stream: TlsStream) -> int:
        try:
            return stream.read_into(self._buffers.plain)
        except ssl.SSLError as error:
            raise FetchFault(FailureKind.TLS, error.reason or str(error)) from error

    def _push(self, data: bytes) -> None:
        try:
            sent = self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        rest = data[sent:]
        if rest and not self._unsent:
            self._loop.add_writer(self._sock, self._push_rest)
        elif self._unsent and not rest:
            self._loop.remove_writer(self._sock)
        self._unsent = rest

    def _push_rest(self) -> None:
        try:
            self._push(self._unsent)
        except OSError:
            # Reading will show why, and what the server sent before it closed.
            self._loop.remove_writer(self._sock)
            self._unsent = b""
