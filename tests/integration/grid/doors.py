"""A door on this machine: keys, a real NATS server, and whoever comes through."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headgate.engine.clock import SystemClock
from headgate.features.grid.transport.certificates import server_certificates
from headgate.features.grid.transport.connection import AtTheDoor, connected
from headgate.features.grid.transport.credentials import Token
from headgate.features.grid.transport.nats_server import NatsServer, serving
from headgate.features.grid.transport.server_config import Door, Listen

PATIENCE_SECONDS = 60.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@dataclass
class OpenDoor:
    door: Door
    server: NatsServer
    told: list[str] = field(default_factory=list)

    @property
    def ca(self) -> str:
        certificates = self.server.certificates
        return "" if certificates is None else certificates.authority.read_text()

    def token(self, node: str, seconds: float = 3600.0) -> Token:
        days = seconds / 86_400
        return self.door.invite(node, [self.server.url], time.time(), days, self.ca)

    @asynccontextmanager
    async def as_manager(self) -> AsyncIterator[AtTheDoor]:
        token = self.door.own_token([self.server.url], time.time(), self.ca)
        async with connected(token, self.told.append, PATIENCE_SECONDS) as client:
            yield client

    @asynccontextmanager
    async def as_node(self, node: str, seconds: float = 3600.0) -> AsyncIterator[AtTheDoor]:
        token = self.token(node, seconds)
        async with connected(token, self.told.append, PATIENCE_SECONDS) as client:
            yield client


@asynccontextmanager
async def open_door(folder: Path, *, tls: bool = False) -> AsyncIterator[OpenDoor]:
    door = Door.at(folder / "door")
    names = ("localhost", "127.0.0.1")
    certificates = server_certificates(door.folder, names, time.time()) if tls else None
    listen = Listen("127.0.0.1", free_port())
    told: list[str] = []
    async with serving(
        door, listen, certificates=certificates, revoked={}, clock=SystemClock(), tell=told.append
    ) as server:
        yield OpenDoor(door, server, told)
