"""Opening connections: name, address, window, handshake, within one time limit.

How wide a connection should be depends on its round trip, which is only known once one has been
opened. The first one to a host is opened for no distance at all; when the handshake shows that this
is too narrow by far, it is opened again, before anything was sent on it, and the round trip is
remembered for the rest.

A connection's own bytes are paid for like others: a little before connect, more before a TLS
handshake with its certificates, and set right afterwards.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket

from headgate.fetching.addresses import AddressGuard
from headgate.fetching.channel import Channel
from headgate.fetching.connection import Connection, Surroundings
from headgate.fetching.dns import Resolver
from headgate.fetching.faults import FetchFault
from headgate.fetching.origin import Origin
from headgate.fetching.tcp import Line, open_socket
from headgate.fetching.tls import Tls
from headgate.model.fetch import FailureKind
from headgate.traffic.window import Opening, fits, opening

__all__ = ["Opener"]

_REMEMBERED_TRIPS = 20_000
_TCP_HANDSHAKE_BYTES = 74.0
_TLS_HANDSHAKE_BYTES = 5_000.0
_MOST_ADDRESSES = 4


class Opener:
    """``_rtts`` holds the shortest round trip seen per host."""

    def __init__(
        self, around: Surroundings, resolver: Resolver, guard: AddressGuard, tls: Tls
    ) -> None:
        self._around = around
        self._resolver = resolver
        self._guard = guard
        self._tls = tls
        self._rtts: dict[str, float] = {}

    def rtt(self, host: str) -> float | None:
        """Seconds to the host and back, once known."""
        return self._rtts.get(host)

    def fits(self, connection: Connection, site: str) -> bool:
        """Whether the connection's window suits the site's rate of now."""
        line = connection.channel.line
        return fits(line.window, self._wanted(site, self._rtts.get(connection.origin.host, 0.0)))

    async def open(self, origin: Origin, site: str) -> Connection:
        """A fresh connection, its handshakes done."""
        limit = self._around.limits.connect_seconds
        unpaid = _TCP_HANDSHAKE_BYTES + (_TLS_HANDSHAKE_BYTES if origin.secure else 0.0)
        await self._around.meter.pay(site, unpaid)
        try:
            async with asyncio.timeout(limit):
                line = await self._connect(origin, site)
                try:
                    stream = await self._tls.secure(line.sock, origin) if origin.secure else None
                except BaseException:
                    line.sock.close()
                    raise
        except TimeoutError:
            raise FetchFault(
                FailureKind.CONNECT_TIMEOUT, f"{origin}: no connection in {limit:g} s"
            ) from None
        line.read = line.arrivals()[0]
        self._around.meter.settle(site, unpaid - line.settle())
        return Connection(self._around, origin, Channel(line, stream, self._around.buffers))

    def learn(self, connection: Connection) -> None:
        """After a first response: its TLS session is worth keeping."""
        if connection.channel.stream is not None:
            self._tls.remember(connection.origin, connection.channel.stream)

    async def _connect(self, origin: Origin, site: str) -> Line:
        address = ""
        fault = FetchFault(FailureKind.REFUSED, str(origin))
        for address in await self._addresses(origin.host):
            try:
                line = await _connected(address, origin.port, self._opening(origin.host, site))
            except OSError as error:
                fault = FetchFault(FailureKind.REFUSED, f"{address}: {_reason(error)}")
                continue
            if self._too_narrow(origin.host, site, line):
                line.sock.close()
                line = await _connected(address, origin.port, self._opening(origin.host, site))
            return line
        raise fault

    async def _addresses(self, host: str) -> list[str]:
        if _is_address(host):
            found: tuple[str, ...] = (host,)
        else:
            found = (await self._resolver.resolve(host)).addresses
        allowed = [address for address in found if self._guard.allows(host, address)]
        if not allowed:
            raise FetchFault(FailureKind.FORBIDDEN_ADDRESS, f"{host} is at {found[0]}")
        return allowed[:_MOST_ADDRESSES]

    def _wanted(self, site: str, rtt: float) -> Opening | None:
        governor = self._around.meter.governor
        if governor.free(site):
            return None
        return opening(governor.total, governor.share(site), rtt, smooth=governor.smooth)

    def _opening(self, host: str, site: str) -> Opening | None:
        return self._wanted(site, self._rtts.get(host, 0.0))

    def _too_narrow(self, host: str, site: str, line: Line) -> bool:
        known = self._rtts.get(host)
        if known is None and len(self._rtts) >= _REMEMBERED_TRIPS:
            self._rtts.clear()
        self._rtts[host] = min(line.rtt, known or line.rtt)
        return known is None and not fits(line.window, self._wanted(site, line.rtt))


async def _connected(address: str, port: int, wanted: Opening | None) -> Line:
    sock = open_socket(address, wanted)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
        return Line(sock, wanted)
    except BaseException:
        sock.close()
        raise


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
