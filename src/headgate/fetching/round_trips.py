"""Round trips to a few servers, measured by ICMP or by connecting, as politely as possible."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from headgate.crawling.ports import Clock
from headgate.fetching.dns import CachedResolver, NetworkResolver
from headgate.fetching.errors import FetchFault
from headgate.fetching.tcp import open_socket, round_trip_seconds

__all__ = ["EchoSocket", "LineProbe", "SiteProbe", "Target"]

MOST_SERVERS = 4
ECHO_SECONDS = 0.2
HANDSHAKE_SECONDS = 0.5
_LOST_SECONDS = 2.0
_MOST_REMEMBERED = 4_096
"""Servers beside those that are aimed at."""
_MUTE_AFTER = 5
"""Probes to a server that never replied."""
_GONE_AFTER = 50
"""The same for one that did reply: a full queue loses many packets."""

Heard = Callable[[str, float, float], None]
"""(address, round trip in seconds, monotonic time of the answer)."""


class Target(msgspec.Struct, frozen=True):
    """A server and a port it listens on."""

    address: str
    port: int

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET


class _Question(msgspec.Struct, frozen=True):
    address: str
    cookie: bytes
    asked: float
    asked_wall: float


class LineProbe:
    """Measures the current round-trip time to a few servers, as politely as possible.

    It sends ICMP echo requests: at most five a second per server, which is what ping allows
    ordinary users, to the four nearest servers. If none answers, TCP handshakes take their place,
    two a second per server.

    `aim` sets the servers; replies go to a callback. A reply that takes longer than two seconds is
    lost, and a server that never replies is not probed again.

    ``_asked`` holds open probes by number.
    """

    def __init__(self, heard: Heard, clock: Clock) -> None:
        self._heard = heard
        self._clock = clock
        self._candidates: list[Target] = []
        self._sockets: dict[socket.AddressFamily, EchoSocket | None] = {}
        self._asked: dict[int, _Question] = {}
        self._handshakes: set[asyncio.Task[None]] = set()
        self._unanswered: dict[str, int] = {}
        """Echo requests sent to a server since its last reply."""
        self._trips: dict[str, float] = {}
        """The shortest round trip of each server that replied."""
        self._number = 0

    def aim(self, targets: Sequence[Target]) -> None:
        """Set the servers to probe from now on."""
        known = {target.address: target for target in targets}
        self._candidates = list(known.values())
        for found in (self._trips, self._unanswered):
            for address in [*found] if len(found) > _MOST_REMEMBERED else ():
                if address not in known:
                    del found[address]

    async def run(self) -> None:
        """Probe until cancelled."""
        try:
            while True:
                await asyncio.sleep(self._ask_next())
        finally:
            self._close()

    def _ask_next(self) -> float:
        """Probe one server; returns the seconds until the next probe."""
        self._forget_lost(self._clock.now())
        by_echo = [target for target in self._candidates if self._may_answer(target)]
        chosen = sorted(by_echo or self._candidates, key=self._distance)[:MOST_SERVERS]
        if not chosen:
            return ECHO_SECONDS
        self._number = (self._number + 1) % 65536
        target = chosen[self._number % len(chosen)]
        if by_echo:
            self._send_echo(target)
            return ECHO_SECONDS / len(chosen)
        task = asyncio.ensure_future(self._shake_hands(target))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)
        return HANDSHAKE_SECONDS / len(chosen)

    def _may_answer(self, target: Target) -> bool:
        if self._socket(target.family) is None:
            return False
        patience = _GONE_AFTER if target.address in self._trips else _MUTE_AFTER
        return self._unanswered.get(target.address, 0) < patience

    def _distance(self, target: Target) -> float:
        """Sort key: servers not yet probed come first."""
        return self._trips.get(target.address, 0.0)

    def _socket(self, family: socket.AddressFamily) -> EchoSocket | None:
        if family not in self._sockets:
            try:
                opened = EchoSocket(family)
            except OSError:
                self._sockets[family] = None
            else:
                self._sockets[family] = opened
                asyncio.get_running_loop().add_reader(opened.sock, self._hear_echoes, opened)
        return self._sockets[family]

    def _send_echo(self, target: Target) -> None:
        opened = self._socket(target.family)
        assert opened is not None
        address, cookie = target.address, os.urandom(8)
        self._unanswered[address] = self._unanswered.get(address, 0) + 1
        self._asked[self._number] = _Question(
            address, cookie, self._clock.now(), self._clock.wall()
        )
        try:
            opened.send(address, self._number, cookie)
        except OSError:  # no route, a full buffer: as good as lost
            del self._asked[self._number]

    def _hear_echoes(self, opened: EchoSocket) -> None:
        while True:
            try:
                echo = opened.receive()
            except OSError:
                return
            if echo is not None:
                self._take(echo, self._clock.now(), self._clock.wall())

    def _take(self, echo: Echo, now: float, wall: float) -> None:
        question = self._asked.get(echo.number)
        if question is None or question.cookie != echo.cookie:
            return
        del self._asked[echo.number]
        self._unanswered[question.address] = 0
        # If the wall clock was set in between, the difference is no duration.
        late = 0.0 if echo.arrived is None else wall - echo.arrived
        trip = now - question.asked
        if 0.0 <= late < trip and abs(wall - question.asked_wall - trip) < 0.001:
            trip -= late
        self._note(question.address, trip, now)

    async def _shake_hands(self, target: Target) -> None:
        sock = open_socket(target.address, None)
        try:
            async with asyncio.timeout(_LOST_SECONDS):
                loop = asyncio.get_running_loop()
                await loop.sock_connect(sock, (target.address, target.port))
            self._note(target.address, round_trip_seconds(sock), self._clock.now())
        except OSError:  # a timeout is one, too
            pass
        finally:
            sock.close()

    def _note(self, address: str, trip: float, now: float) -> None:
        self._trips[address] = min(trip, self._trips.get(address, trip))
        self._heard(address, trip, now)

    def _forget_lost(self, now: float) -> None:
        for number, question in list(self._asked.items()):
            if question.asked < now - _LOST_SECONDS:
                del self._asked[number]

    def _close(self) -> None:
        for task in self._handshakes:
            task.cancel()
        for opened in self._sockets.values():
            if opened is not None:
                asyncio.get_running_loop().remove_reader(opened.sock)
                opened.sock.close()
        self._sockets.clear()


_HEADER = struct.Struct("!BBHHH")
"""Type, code, checksum, identifier, sequence number."""
_TIMESPEC = struct.Struct("=qq")
_SO_TIMESTAMPNS = 35
"""Linux's number; also the type of the control message."""
_REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}


class Echo(msgspec.Struct, frozen=True):
    """ICMP echo requests of one address family, and their replies with the time of arrival.

    Linux lets ordinary users send echo requests if net.ipv4.ping_group_range includes them; root
    can use a raw socket, which also receives replies to others. The kernel timestamps arrivals, so
    that a busy event loop is not taken for a slow line.

    An answer.
    """

    address: str
    number: int
    cookie: bytes
    arrived: float | None
    """Seconds since 1970 by the kernel; None: no timestamp."""


class EchoSocket:
    """Never blocks; raises OSError if echo requests are not allowed."""

    def __init__(self, family: socket.AddressFamily) -> None:
        self._family = family
        self._whose = os.getpid() & 0xFFFF
        self._raw = False
        try:
            self.sock = socket.socket(family, socket.SOCK_DGRAM, _PROTOCOL[family])
        except PermissionError:
            self.sock = socket.socket(family, socket.SOCK_RAW, _PROTOCOL[family])
            self._raw = True
        self.sock.setblocking(False)
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    def send(self, address: str, number: int, cookie: bytes) -> None:
        """Send a request; the cookie comes back in the reply."""
        kind = _REQUEST[self._family]
        blank = _HEADER.pack(kind, 0, 0, self._whose, number)
        # Only raw IPv4 sockets need it: the kernel fills it in for IPv6 and for datagrams.
        checksum = _checksum(blank + cookie) if self._with_ip_header else 0
        header = _HEADER.pack(kind, 0, checksum, self._whose, number)
        self.sock.sendto(header + cookie, (address, 0))

    def receive(self) -> Echo | None:
        """The next reply; None: it was something else. Raises BlockingIOError if there is
        nothing."""
        data, control, _, sender = self.sock.recvmsg(256, 128)
        if self._with_ip_header:
            data = data[(data[0] & 0x0F) * 4 :]
        if len(data) < _HEADER.size:
            return None
        kind, _, _, _, number = _HEADER.unpack_from(data)
        if kind != _REPLY[self._family]:
            return None
        return Echo(sender[0], number, data[_HEADER.size :], _arrival(control))

    @property
    def _with_ip_header(self) -> bool:
        return self._raw and self._family == socket.AF_INET


def _arrival(control: list[tuple[int, int, bytes]]) -> float | None:
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return float(seconds + nanoseconds * 1e-9)
    return None


def _checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of an even number of bytes.

    >>> hex(_checksum(bytes.fromhex("0001f203f4f5f6f7")))
    '0x220d'
    """
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


_PORTS = {"http": 80, "https": 443}


class SiteProbe:
    """Measures the round trip to the servers of running sites.

    A `headgate.engine.background_fleet.Prober` over the network. ``_targets`` has the sites whose
    addresses are known.
    """

    def __init__(self, heard: Heard, clock: Clock) -> None:
        self._resolver = CachedResolver(NetworkResolver(), clock.now)
        self._probe = LineProbe(heard, clock)
        self._targets: dict[str, Target] = {}
        self._finding: dict[str, asyncio.Task[None]] = {}

    def add(self, site: str, url: str) -> None:
        if site not in self._targets and site not in self._finding:
            task = self._finding[site] = asyncio.ensure_future(self._find(site, url))
            task.add_done_callback(lambda _: self._finding.pop(site, None))

    def drop(self, site: str) -> None:
        self._targets.pop(site, None)
        self._probe.aim(list(self._targets.values()))

    async def run(self) -> None:
        try:
            await self._probe.run()
        finally:
            finding = list(self._finding.values())
            for task in finding:
                task.cancel()
            await asyncio.gather(*finding, return_exceptions=True)
            await self._resolver.close()

    async def _find(self, site: str, url: str) -> None:
        """A site whose name does not resolve, or cannot be asked for now, is not probed."""
        parts = urlsplit(url)
        with contextlib.suppress(FetchFault, OSError):
            address = (await self._resolver.resolve(parts.hostname or "")).addresses[0]
            self._targets[site] = Target(address, parts.port or _PORTS[parts.scheme])
            self._probe.aim(list(self._targets.values()))
