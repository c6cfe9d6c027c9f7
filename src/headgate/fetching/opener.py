"""Opens connections: name, address, window, handshakes, within one time limit.

The right window depends on the round trip, which is known only after a first connection. That one
is opened as if the host were next door; if the handshake shows that its window is far too narrow or
too wide, it is opened again before anything was sent, and the round trip is remembered.

Handshakes are paid for, too: a little before connect, more before a TLS handshake with its
certificates; the difference is settled afterwards.

Errors of the server and the way to it become `FetchFault`; those of this machine (`limits`)
stay OSError: a server must not be blamed for them.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
from collections.abc import Mapping
from types import MappingProxyType

from headgate.bandwidth.receive_window import NARROWEST, Opening, fits, opening
from headgate.fetching.connection import Channel, Connection, Surroundings
from headgate.fetching.dns import AddressGuard, Resolver, leads_to_public
from headgate.fetching.errors import FetchFault
from headgate.fetching.identity import Identity
from headgate.fetching.open_files import is_ours
from headgate.fetching.origin import Origin
from headgate.fetching.proxy import Proxy
from headgate.fetching.tcp import TcpConnection, open_socket
from headgate.fetching.tls import Tls, TlsStream
from headgate.model.fetch import FailureKind, FetchRequest

__all__ = ["Opener"]

_REMEMBERED_TRIPS = 20_000
_TCP_HANDSHAKE_BYTES = 74.0
_TLS_HANDSHAKE_BYTES = 2_500.0
"""From 1,100 with one small certificate to 5,000 with a chain of large ones. Too much paid is
returned as a burst on the line, too little is one."""
_KEPT = 0.75
"""Weight of earlier handshakes in the moving average."""
_MOST_ADDRESSES = 4


_Way = tuple[str, str]
"""A host, and the site whose proxy or certificate leads there (`Origin.via`)."""


class Opener:
    """``_rtts``: the shortest round trip seen on each way."""

    def __init__(
        self,
        around: Surroundings,
        resolver: Resolver,
        guard: AddressGuard,
        tls: Tls,
        identities: Mapping[str, Identity] = MappingProxyType({}),
    ) -> None:
        self._around = around
        self._resolver = resolver
        self._guard = guard
        self._tls = tls
        self._proxies = {site: identity.proxy for site, identity in identities.items()}
        self._own_tls = {site: identity.tls(tls) for site, identity in identities.items()}
        self._rtts: dict[_Way, float] = {}
        self._handshakes: dict[Origin, float] = {}
        """Wire bytes of the last TLS handshake with an origin: a resumed session takes a tenth, and
        an overpayment is returned as a burst on the line."""
        self._first_handshake = _TCP_HANDSHAKE_BYTES + _TLS_HANDSHAKE_BYTES
        """Expected wire bytes of a handshake with a new origin."""

    def rtt(self, origin: Origin) -> float | None:
        """Round trip to the origin's host in seconds, if known."""
        return self._rtts.get((origin.host, origin.via))

    def fits(self, connection: Connection, request: FetchRequest) -> bool:
        """Whether the site may use the connection, and its window suits the site's rate."""
        if request.method != "GET":
            return False  # it needs a fresh one: see `FetchRequest.method`
        origin, line = connection.origin, connection.channel.line
        if not connection.proxied and not self._may_use(
            origin.host, connection.address, request.site
        ):
            return False
        return fits(line.window, self._opening(origin, request))

    async def open(self, origin: Origin, request: FetchRequest) -> Connection:
        """A new connection after its handshakes. An OSError is this machine's fault."""
        limit, site = self._around.limits.connect_seconds, request.site
        proxy = self._proxies.get(origin.via)
        unpaid = self._handshake_bytes(origin)
        await self._around.meter.pay(site, unpaid)
        try:
            async with asyncio.timeout(limit):
                line = await self._connect(origin, request)
                try:
                    tls = self._own_tls.get(origin.via, self._tls)
                    stream = await _secured(line, origin, tls, proxy) if origin.secure else None
                except BaseException:
                    line.sock.close()
                    raise
        except TimeoutError:
            raise FetchFault(
                FailureKind.CONNECT_TIMEOUT, f"{origin}: no connection in {limit:g} s{_by(proxy)}"
            ) from None
        except OSError:
            self._around.meter.settle(site, unpaid)
            raise
        line.read = line.arrivals()[0]
        came = line.settle()
        self._around.meter.settle(site, unpaid - came)
        if origin.secure:
            self._learn_handshake(origin, came)
        try:
            channel = Channel(line, stream, self._around.buffers)
            connection = Connection(self._around, origin, channel)
        except OSError as error:  # closed already, e.g. a client certificate is missing
            line.sock.close()
            raise FetchFault(FailureKind.CLOSED, _reason(error)) from None
        connection.proxied = proxy is not None
        return connection

    def _handshake_bytes(self, origin: Origin) -> float:
        if not origin.secure:
            return _TCP_HANDSHAKE_BYTES
        return self._handshakes.get(origin, self._first_handshake)

    def _learn_handshake(self, origin: Origin, came: float) -> None:
        if origin not in self._handshakes:
            self._first_handshake = _KEPT * self._first_handshake + (1 - _KEPT) * came
        if len(self._handshakes) >= _REMEMBERED_TRIPS:
            self._handshakes.clear()
        self._handshakes[origin] = came

    def learn(self, connection: Connection) -> None:
        """After a first response: keep its TLS session."""
        if connection.channel.stream is not None:
            tls = self._own_tls.get(connection.origin.via, self._tls)
            tls.remember(connection.origin, connection.channel.stream)

    async def _through(self, proxy: Proxy, origin: Origin, request: FetchRequest) -> TcpConnection:
        """A connection through a proxy. The proxy resolves names; addresses that the user did not
        name are still refused here."""
        if _is_address(origin.host) and not self._guard.allows(
            origin.host, origin.host, request.site
        ):
            raise FetchFault(FailureKind.FORBIDDEN_ADDRESS, f"it is at {origin.host}")
        address = proxy.host
        try:
            if not _is_address(address):
                address = (await self._resolver.resolve(address)).addresses[0]
            line = await _connected(address, proxy.port, self._opening(origin, request))
        except (OSError, FetchFault) as error:
            if isinstance(error, OSError) and is_ours(error):
                raise
            why = error.detail if isinstance(error, FetchFault) else _reason(error)
            raise FetchFault(FailureKind.REFUSED, f"{proxy}: {why}") from None
        try:
            await proxy.tunnel(line.sock, origin)
        except BaseException:
            line.sock.close()
            raise
        return line

    async def _connect(self, origin: Origin, request: FetchRequest) -> TcpConnection:
        proxy = self._proxies.get(origin.via)
        if proxy is not None:
            return await self._through(proxy, origin, request)
        address = ""
        fault = FetchFault(FailureKind.REFUSED, str(origin))
        for address in await self._addresses(origin.host, request.site):
            try:
                return await self._fitting(address, origin, request)
            except OSError as error:
                if is_ours(error):
                    raise
                fault = FetchFault(FailureKind.REFUSED, f"{address}: {_reason(error)}")
        raise fault

    async def _fitting(self, address: str, origin: Origin, request: FetchRequest) -> TcpConnection:
        line = await _connected(address, origin.port, self._opening(origin, request))
        if self._unfit(origin, request, line):
            line.sock.close()
            line = await _connected(address, origin.port, self._opening(origin, request))
        return line

    def _may_use(self, host: str, address: str, site: str) -> bool:
        """Another site may have opened the connection, to a private host that only it may use."""
        return leads_to_public(address) or self._guard.allows(host, address, site)

    async def _addresses(self, host: str, site: str) -> list[str]:
        if _is_address(host):
            found: tuple[str, ...] = (host,)
        else:
            found = (await self._resolver.resolve(host)).addresses
        allowed = [address for address in found if self._guard.allows(host, address, site)]
        if not allowed:
            raise FetchFault(FailureKind.FORBIDDEN_ADDRESS, f"{host} is at {found[0]}")
        return allowed[:_MOST_ADDRESSES]

    def _wanted(self, host: str, request: FetchRequest, rtt: float) -> Opening | None:
        meter, most = self._around.meter, self._around.limits.connections_per_host
        if meter.limiter.free(request.site):
            return None
        if self._around.crumbs.from_host(host):
            return NARROWEST
        return opening(meter.demand(request.site, rtt, request.expected_bytes, most))

    def _opening(self, origin: Origin, request: FetchRequest) -> Opening | None:
        return self._wanted(origin.host, request, self.rtt(origin) or 0.0)

    def _unfit(self, origin: Origin, request: FetchRequest, line: TcpConnection) -> bool:
        known = self.rtt(origin)
        if known is None and len(self._rtts) >= _REMEMBERED_TRIPS:
            self._rtts.clear()
        self._rtts[origin.host, origin.via] = min(line.rtt, known or line.rtt)
        return known is None and not fits(line.window, self._wanted(origin.host, request, line.rtt))


async def _connected(address: str, port: int, wanted: Opening | None) -> TcpConnection:
    sock = open_socket(address, wanted)
    try:
        await connect(sock, address, port)
        return TcpConnection(sock, wanted)
    except BaseException:
        sock.close()
        raise


async def _secured(line: TcpConnection, origin: Origin, tls: Tls, proxy: Proxy | None) -> TlsStream:
    """Whether the server or the proxy is at fault is not known; the message names the proxy."""
    line.hold_window()
    try:
        return await tls.secure(line.sock, origin)
    except FetchFault as fault:
        raise FetchFault(fault.kind, f"{fault.detail}{_by(proxy)}") from fault


def _by(proxy: Proxy | None) -> str:
    return "" if proxy is None else f", through {proxy}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _reason(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno is None:
        return str(error)
    return os.strerror(error.errno) if error.errno in errno.errorcode else str(error)


async def connect(sock: socket.socket, address: str, port: int) -> None:
    """Connecting a socket to an address, within an event loop.

    uvloop's `sock_connect` calls the system's resolver first, in a thread, even for an address:
    four switches between threads for each connection.

    The socket is non-blocking; ``address`` is no name. Raises `OSError` when refused.
    """
    try:
        sock.connect((address, port))
    except BlockingIOError:
        await _answered(sock)
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error)) from None


async def _answered(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not answered.done():
            answered.set_result(None)

    loop.add_writer(sock, note)
    try:
        await answered
    finally:
        loop.remove_writer(sock)
