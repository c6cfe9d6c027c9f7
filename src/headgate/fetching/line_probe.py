"""Measures the current round-trip time to a few servers, as politely as possible.

It sends ICMP echo requests: at most five a second per server, which is what ping allows ordinary
users, to the four nearest servers. If none answers, TCP handshakes take their place, two a second
per server.

`aim` sets the servers; replies go to a callback. A reply that takes longer than two seconds is
lost, and a server that never replies is not probed again.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence

import msgspec

from headgate.fetching.echo import Echo, EchoSocket
from headgate.fetching.tcp import open_socket, round_trip_seconds

__all__ = ["Heard", "LineProbe", "Target"]

MOST_SERVERS = 4
ECHO_SECONDS = 0.2
HANDSHAKE_SECONDS = 0.5
_LOST_SECONDS = 2.0
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
    """``_asked`` holds open probes by number."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
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

    async def run(self) -> None:
        """Probe until cancelled."""
        try:
            while True:
                await asyncio.sleep(self._ask_next())
        finally:
            self._close()

    def _ask_next(self) -> float:
        """Probe one server; returns the seconds until the next probe."""
        self._forget_lost(time.monotonic())
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
        self._asked[self._number] = _Question(address, cookie, time.monotonic(), time.time())
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
                self._take(echo, time.monotonic(), time.time())

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
            self._note(target.address, round_trip_seconds(sock), time.monotonic())
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
