"""Sends objects from one of our processes to another: a length of eight bytes and a pickle."""

from __future__ import annotations

import pickle
from typing import IO, Any

__all__ = ["receive", "send"]

_LENGTH_BYTES = 8


def send(stream: IO[bytes], thing: object) -> None:
    data = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_LENGTH_BYTES))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next object; raises EOFError if the other end was closed."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        raise EOFError
    data = stream.read(size := int.from_bytes(length))
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)
