"""The door of a grid: its keys, and the configuration of the NATS server that nodes connect to.

All keys are derived from one file of seeds, made at the first start. Its owner can invite nodes, so
only they can read it; the server's configuration has no secrets, only the path of its TLS key. The
NATS server stores nothing: all state is in the catalog.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headgate.features.grid.transport import credentials
from headgate.features.grid.transport.certificates import Certificates, make_private
from headgate.features.grid.transport.credentials import Key, Token, Whose
from headgate.model.errors import DamagedFile, UserMistake

__all__ = ["MAX_PAYLOAD_BYTES", "Door", "Listen"]

MAX_PAYLOAD_BYTES = 1 << 20
"""Maximum message size; a chunk is a quarter of it."""
_DAY = 86_400
_SEEDS = "seeds.json"


class _Seeds(msgspec.Struct, frozen=True):
    operator: str
    manager: str
    manager_user: str
    nodes: str
    signing: str


@dataclass(frozen=True, slots=True)
class Listen:
    """Where a server listens.

    >>> Listen.parse(":4222"), Listen.parse("[::1]:1")
    (Listen(host='0.0.0.0', port=4222), Listen(host='::1', port=1))
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listen:
        host, _, port = text.rpartition(":")
        if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 1 << 16):
            raise UserMistake(f"{text!r} is no place to listen; write [HOST]:PORT, like ':4222'")
        return cls(host.strip("[]") or "0.0.0.0", int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Door:
    """The keys of one grid."""

    def __init__(self, folder: Path, seeds: _Seeds) -> None:
        self.folder = folder
        self._operator = Key.of_seed(seeds.operator)
        self._manager = Key.of_seed(seeds.manager)
        self._manager_user = Key.of_seed(seeds.manager_user)
        self._nodes = Key.of_seed(seeds.nodes)
        self._signing = Key.of_seed(seeds.signing)

    @classmethod
    def at(cls, folder: Path) -> Door:
        """The keys in a folder; made if there are none."""
        path = folder / _SEEDS
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            kinds = (Whose.OPERATOR, Whose.ACCOUNT, Whose.USER, Whose.ACCOUNT, Whose.ACCOUNT)
            seeds = _Seeds(*(Key.new(kind).seed for kind in kinds))
            with _alone(folder):
                if not path.exists():  # a manager starts, and somebody is invited
                    make_private(path, msgspec.json.encode(seeds))
        try:
            return cls(folder, msgspec.json.decode(path.read_bytes(), type=_Seeds))
        except (msgspec.MsgspecError, ValueError, UserMistake) as error:
            remedy = "restore it from a copy, or delete it and invite all nodes anew"
            raise DamagedFile(path, str(error), remedy) from None

    def invite(
        self, node: str, servers: Sequence[str], now: float, days: float, ca: str = ""
    ) -> Token:
        """A token for a node, valid at once and for so many days."""
        expires = int(now + days * _DAY)
        jwt, user = credentials.node_user(
            self._signing, self._nodes.public, node, int(now), expires
        )
        return Token(node, tuple(servers), jwt, user.seed, ca)

    def own_token(self, servers: Sequence[str], now: float, ca: str = "") -> Token:
        """The manager's token, made anew at each start."""
        jwt = credentials.manager_user(self._manager, self._manager_user.public, int(now))
        return Token("manager", tuple(servers), jwt, self._manager_user.seed, ca)

    def config(
        self,
        listen: Listen,
        certificates: Certificates | None,
        revoked: Mapping[str, float],
        now: float,
    ) -> str:
        """Configuration for any NATS server. ``revoked``: keys of tokens, with the time."""
        operator, manager, nodes = self._operator, self._manager.public, self._nodes.public
        moment = int(now)
        until = {key: int(at) + 1 for key, at in revoked.items()}
        accounts = {
            manager: credentials.manager_account(operator, manager, moment),
            nodes: credentials.nodes_account(
                operator,
                nodes,
                manager=manager,
                signing=self._signing.public,
                revoked=until,
                now=moment,
            ),
        }
        preload = "\n".join(f"  {account}: {jwt}" for account, jwt in accounts.items())
        text = f"""\
# Written by Headgate, anew at each start.
listen: {_quoted(str(listen))}
server_name: headgate
max_payload: {MAX_PAYLOAD_BYTES}
operator: {credentials.operator(operator)}
resolver: MEMORY
resolver_preload: {{
{preload}
}}
"""
        if certificates is not None:
            text += f"""\
tls {{
  cert_file: {_quoted(str(certificates.server))}
  key_file: {_quoted(str(certificates.server_key))}
  min_version: "1.2"
}}
"""
        return text


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
