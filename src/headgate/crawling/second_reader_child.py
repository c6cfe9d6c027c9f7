"""The process of a second reader; its arguments are its parent's id and its end of the sockets.

It has a lower priority: if there are not enough cores, its parent reads what it does not get done.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import IO

import msgspec

from headgate.crawling.child_process import die_with_parent, leave_signals_to_parent
from headgate.crawling.second_reader import LENGTH_BYTES, ReadAnswer, ReadQuestion

__all__ = ["serve"]

_NICE = 5

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ReadQuestion).decode


def serve(questions: IO[bytes], answers: socket.socket) -> None:
    """Until the parent closes its end."""
    with suppress(ConnectionError):
        while len(lengths := questions.read(2 * LENGTH_BYTES)) == 2 * LENGTH_BYTES:
            question = questions.read(int.from_bytes(lengths[:LENGTH_BYTES]))
            body = questions.read(int.from_bytes(lengths[LENGTH_BYTES:]))
            data = _answered(question, body)
            answers.sendall(len(data).to_bytes(LENGTH_BYTES) + data)


def _answered(question: bytes, body: bytes) -> bytes:
    """Empty on any error, such as a lone surrogate, which UTF-8 cannot encode."""
    try:
        return _encode(ReadAnswer.of(_decode(question).read(body)))
    except Exception:
        return b""


def main() -> None:
    leave_signals_to_parent()
    die_with_parent(int(sys.argv[1]))
    os.nice(_NICE)
    with socket.socket(fileno=int(sys.argv[2])) as end, end.makefile("rb") as questions:
        serve(questions, end)


if __name__ == "__main__":
    main()
