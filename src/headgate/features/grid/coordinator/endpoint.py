"""Where nodes connect: a NATS server of our own or an existing one; and invitations to it."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from headgate.crawling.ports import Clock
from headgate.features.grid.protocol import Refused, TaskDesk
from headgate.features.grid.transport.certificates import (
    Certificates,
    make_private,
    server_certificates,
)
from headgate.features.grid.transport.connection import connected
from headgate.features.grid.transport.credentials import Token, check_node_name
from headgate.features.grid.transport.nats_server import NatsServer, serving
from headgate.features.grid.transport.requests import listening
from headgate.features.grid.transport.server_config import Door, Listen
from headgate.model.errors import UserMistake
from headgate.storage.atomic_write import write_whole

__all__ = ["DoorPlace", "check_place", "door_folder", "invite", "opened_door"]

_PATIENCE_SECONDS = 30.0
_PORT_SECONDS, _TAKEN_OVER_SECONDS, _LOOK_SECONDS = 3.0, 60.0, 0.1
"""The server of a manager that was killed ends with it, but not at the same moment."""
_SERVERS = "servers.json"
_USUAL_PORT = 4222


@dataclass(frozen=True, slots=True)
class DoorPlace:
    """``serve``: where our own server listens; else ``urls`` of an existing one."""

    serve: Listen | None = None
    urls: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Names by which nodes reach this machine; none: its host name and address."""
    plain: bool = False
    """Without TLS."""


def door_folder(out: Path) -> Path:
    return out / "door"


async def check_place(place: DoorPlace, clock: Clock, *, took_over: bool) -> None:
    """Refuse a port in use, for whoever has not begun a run: an unfinished one would stay. Who took
    over from another manager has more patience: nobody would manage."""
    until = clock.now() + (_TAKEN_OVER_SECONDS if took_over else _PORT_SECONDS)
    while place.serve is not None and (obstacle := _obstacle(place.serve)):
        if clock.now() > until:
            raise UserMistake(
                f"--serve-nats {place.serve}: {obstacle}; name another place, or use a NATS server"
                " that runs there with --nats"
            )
        await asyncio.sleep(_LOOK_SECONDS)


def _obstacle(at: Listen) -> str:
    """Why nobody can listen there now; empty: it is free."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    try:
        socket.create_server((at.host, at.port), family=family).close()
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        return "the port is in use, perhaps by another manager" if in_use else str(error.strerror)
    return ""


@asynccontextmanager
async def opened_door(
    place: DoorPlace, out: Path, desk: TaskDesk, revoked: Iterable[str], clock: Clock,
    tell: Callable[[str], None],
) -> AsyncIterator[_OurServer | _TheirServer]:  # fmt: skip
    """Answer nodes while the context is open. ``revoked``: keys of tokens that let nobody in from
    the beginning."""
    door = Door.at(door_folder(out))
    shut = dict.fromkeys(revoked, clock.wall())
    if place.serve is None:
        token = door.own_token(place.urls, clock.wall(), _authority(door))
        keeper = _TheirServer(door, clock, _port(place.urls[0]))
        keeper.revoke(shut)
        _remember(door, place.urls)
        try:
            async with connected(token, tell, _PATIENCE_SECONDS) as client, listening(client, desk):
                yield keeper
        except Refused as refused:
            raise UserMistake(
                f"{refused}; is it started with {door.folder / 'nats.conf'}?"
            ) from None
        return
    hosts = place.hosts or _own_names()
    certificates = None
    if not place.plain:
        names = (*hosts, "localhost", "127.0.0.1", "::1")
        certificates = server_certificates(door.folder, names, clock.wall())
    scheme = "nats" if place.plain else "tls"
    _remember(door, [f"{scheme}://{host}:{place.serve.port}" for host in map(_bracketed, hosts)])
    async with serving(
        door, place.serve, certificates=certificates, revoked=shut, clock=clock, tell=tell
    ) as server:
        token = door.own_token([server.url], clock.wall(), _read(certificates))
        async with connected(token, tell, _PATIENCE_SECONDS) as client, listening(client, desk):
            yield _OurServer(server)


def invite(
    out: Path, node: str, urls: Sequence[str], days: float, wall: float
) -> tuple[Token, bytes]:
    """A token for a node, and the file to give it. ``urls``: of the server; none: those of the last
    manager."""
    check_node_name(node)
    door = Door.at(door_folder(out))
    servers = tuple(urls) or _remembered(door)
    if not servers:
        raise UserMistake(
            "no manager was started there yet; start it first, or say where nodes will find the"
            " server with --nats tls://HOST:4222"
        )
    token = door.invite(node, servers, wall, days, _authority(door))
    return token, msgspec.json.encode(token)


@dataclass(slots=True)
class _OurServer:
    server: NatsServer

    def revoke(self, tokens: Mapping[str, float]) -> None:
        self.server.revoke(tokens)


@dataclass(slots=True)
class _TheirServer:
    """An existing server; its operator installs the configuration file that is written here."""

    door: Door
    clock: Clock
    port: int

    def revoke(self, tokens: Mapping[str, float]) -> None:
        listen = Listen("0.0.0.0", self.port)
        text = self.door.config(listen, None, tokens, self.clock.wall())
        make_private(self.door.folder / "nats.conf", text.encode())


def _authority(door: Door) -> str:
    path = door.folder / "ca.pem"
    return path.read_text() if path.exists() else ""


def _read(certificates: Certificates | None) -> str:
    return "" if certificates is None else certificates.authority.read_text()


def _remember(door: Door, urls: Sequence[str]) -> None:
    write_whole(door.folder / _SERVERS, msgspec.json.encode(list(urls)))


def _remembered(door: Door) -> tuple[str, ...]:
    path = door.folder / _SERVERS
    return msgspec.json.decode(path.read_bytes(), type=tuple[str, ...]) if path.exists() else ()


def _own_names() -> tuple[str, ...]:
    """The machine's name, and its address for outgoing connections."""
    names = [socket.gethostname()]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            names.append(probe.getsockname()[0])
        except OSError:
            names.append("127.0.0.1")
    return tuple(names)


def _port(url: str) -> int:
    try:
        return urlsplit(url).port or _USUAL_PORT
    except ValueError:
        raise UserMistake(f"--nats: {url!r} is no URL; write it like tls://HOST:4222") from None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
