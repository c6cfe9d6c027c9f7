"""Keys and tokens that let nodes connect, signed without asking the server."""

from __future__ import annotations

import base64
import hashlib
import re
from binascii import Error, crc_hqx
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headgate.model.errors import DamagedFile, UserMistake

__all__ = [
    "REQUESTS",
    "Key",
    "Token",
    "Whose",
    "check_node_name",
    "inbox_of",
    "manager_account",
    "manager_user",
    "node_user",
    "nodes_account",
    "operator",
    "read_token",
]

REQUESTS = "hg.req"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_UNLIMITED = {
    "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True,
    "conn": -1, "leaf": -1,
}  # fmt: skip
_NODE_CONNECTIONS_SUBS = 8
"""A node needs one subscription, for answers."""
_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}


class Token(msgspec.Struct, frozen=True):
    """Tokens that let nodes connect, signed by the manager without asking the server.

        operator ─signs─► account MGR    exports the requests that nodes may make
                 └signs─► account NODES  imports them; its signing key has a template of rights
                             └signs─► user <node>: a token

    A token contains only a name: the server derives its rights from the template, so no token can
    claim more, and one signed after the server's start is valid at once. Subjects contain the name,
    and the server lets nodes publish only under their own: the subject alone identifies the sender.
    Accounts are separate, so that no reply subject that a node makes up reaches the manager's own.

    All that a node needs to connect; a file that only its owner can read.
    """

    node: str
    servers: tuple[str, ...]
    """URLs, tried in turn."""
    jwt: str
    seed: str
    ca: str = ""
    """Certificate authority of the server, PEM; empty: the system's."""
    version: int = 1

    @property
    def key(self) -> str:
        """The user's public key, by which a token can be revoked."""
        return Key.of_seed(self.seed).public


def read_token(path: Path) -> Token:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserMistake(f"cannot read the token {path}: {error.strerror}") from None
    remedy = "ask the manager's operator for another (headgate manager invite)"
    try:
        token = msgspec.json.decode(data, type=Token)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise UserMistake(f"{path} is not a token; {remedy}") from None
    if token.version != 1:
        raise UserMistake(f"{path} is a token of another version of Headgate; {remedy}")
    try:
        check_node_name(token.node)
        Key.of_seed(token.seed)
    except UserMistake as mistake:
        raise DamagedFile(path, str(mistake), remedy) from None
    return token


def check_node_name(name: str) -> None:
    """Names are parts of subjects and of file names."""
    if not _NAME.fullmatch(name):
        raise UserMistake(
            f"{name!r} cannot name a node; take small letters, digits, - and _, 63 at the most"
        )


def inbox_of(node: str) -> str:
    """The subject for answers to a node; no other may subscribe to it."""
    return f"_INBOX_{node}"


def operator(key: Key) -> str:
    """Always the same: a running server accepts no other."""
    return _signed(key, key.public, "headgate", 1, {"type": "operator"})


def manager_account(operator_key: Key, account: str, now: int) -> str:
    requests = {"name": "requests", "subject": f"{REQUESTS}.>", "type": "service"}
    claims = {"exports": [requests], "limits": _UNLIMITED, "type": "account"}
    return _signed(operator_key, account, "MGR", now, claims)


def nodes_account(
    operator_key: Key,
    account: str,
    manager: str,
    signing: str,
    revoked: Mapping[str, int],
    now: int,
) -> str:
    """``revoked``: by key, tokens issued until a time in seconds since 1970."""
    name = "{{name()}}"
    template = {
        "pub": {"allow": [f"{REQUESTS}.{name}.>"]},
        "sub": {"allow": [f"{inbox_of(name)}.>"]},
        "subs": _NODE_CONNECTIONS_SUBS,
        "data": -1,
        "payload": -1,
    }
    scope = {"kind": "user_scope", "key": signing, "role": "node", "template": template}
    requests = {
        "name": "requests", "subject": f"{REQUESTS}.>", "account": manager, "type": "service",
    }  # fmt: skip
    claims: dict[str, Any] = {
        "imports": [requests], "limits": _UNLIMITED, "signing_keys": [scope], "type": "account",
    }  # fmt: skip
    if revoked:
        claims["revocations"] = dict(revoked)
    return _signed(operator_key, account, "NODES", now, claims)


def manager_user(account_key: Key, user: str, now: int) -> str:
    """The manager's user: it may do everything within its account, which has only requests."""
    rights = {"pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user"}
    return _signed(account_key, user, "manager", now, rights)


def node_user(signing_key: Key, account: str, node: str, now: int, expires: int) -> tuple[str, Key]:
    """A token's claims, and its new key. All rights come from the template."""
    check_node_name(node)
    user = Key.new(Whose.USER)
    claims = {"pub": {}, "sub": {}, "issuer_account": account, "type": "user"}
    return _signed(
        signing_key, user.public, name=node, now=now, claims=claims, expires=expires
    ), user


def _signed(
    key: Key, subject: str, name: str, now: int, claims: Mapping[str, Any], expires: int = 0
) -> str:
    body: dict[str, Any] = {
        "iat": now, "iss": key.public, "name": name, "sub": subject,
        "nats": {**claims, "version": 2},
    }  # fmt: skip
    if expires:
        body["exp"] = expires
    identity = hashlib.sha256(msgspec.json.encode(body)).digest()
    body["jti"] = base64.b32encode(identity).rstrip(b"=").decode()
    signed = _joined([msgspec.json.encode(_HEADER), msgspec.json.encode(body)])
    return f"{signed}.{_joined([key.sign(signed.encode())])}"


def _joined(parts: Sequence[bytes]) -> str:
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


# Keys in NATS's format (nkeys): Ed25519 with a first letter for their kind.
#
# A public key is base32 of a prefix byte, 32 bytes and their CRC-16; a seed has two prefix bytes,
# so that both can be distinguished and typos detected.


_SEED = 18 << 3
_RAW_BYTES = 32


class Whose(IntEnum):
    """The prefix byte; in base32 it becomes the letter O, A or U."""

    OPERATOR = 14 << 3
    ACCOUNT = 0
    USER = 20 << 3


class Key:
    """A signing key."""

    def __init__(self, whose: Whose, raw: bytes) -> None:
        self._whose = whose
        self._raw = raw
        self._private = Ed25519PrivateKey.from_private_bytes(raw)

    @classmethod
    def new(cls, whose: Whose) -> Key:
        return cls(whose, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def of_seed(cls, seed: str) -> Key:
        """
        >>> Key.of_seed(Key.new(Whose.USER).seed[:-1])
        Traceback (most recent call last):
        headgate.model.errors.UserMistake: a key is damaged
        """
        try:
            packed = base64.b32decode(seed + "=" * (-len(seed) % 8))
            checked, crc = packed[:-2], packed[-2:]
            first, second, raw = checked[0], checked[1], checked[2:]
            whose = Whose((first & 7) << 5 | second >> 3)
        except (Error, IndexError, ValueError):
            raise UserMistake("a key is damaged") from None
        if _crc(checked) != crc or first & 0xF8 != _SEED or len(raw) != _RAW_BYTES:
            raise UserMistake("a key is damaged")
        return cls(whose, raw)

    @cached_property
    def public(self) -> str:
        """
        >>> Key.new(Whose.ACCOUNT).public[0], Key.new(Whose.USER).public[0]
        ('A', 'U')
        """
        return _packed(bytes([self._whose]) + self._private.public_key().public_bytes_raw())

    @property
    def seed(self) -> str:
        """The secret seed.

        >>> key = Key.new(Whose.USER)
        >>> key.seed[:2], Key.of_seed(key.seed).public == key.public
        ('SU', True)
        """
        prefix = bytes([_SEED | self._whose >> 5, (self._whose & 31) << 3])
        return _packed(prefix + self._raw)

    def sign(self, data: bytes) -> bytes:
        return bytes(self._private.sign(data))


def _packed(data: bytes) -> str:
    return base64.b32encode(data + _crc(data)).rstrip(b"=").decode()


def _crc(data: bytes) -> bytes:
    return crc_hqx(data, 0).to_bytes(2, "little")
