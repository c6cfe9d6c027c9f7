"""Keys in NATS's format (nkeys): Ed25519 with a first letter for their kind.

A public key is base32 of a prefix byte, 32 bytes and their CRC-16; a seed has two prefix bytes, so
that both can be distinguished and typos detected.
"""

from __future__ import annotations

import base64
from binascii import Error, crc_hqx
from enum import IntEnum
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headgate.model.errors import UserMistake

__all__ = ["Key", "Whose"]

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
