"""The process of a second reader, and the messages between it and a crawl.

It has a lower priority: if there are not enough cores, its parent reads what it does not get done.

A question is two lengths of four bytes, MessagePack, and the page's body as it is: packing it would
copy it twice. An answer is a length and MessagePack. They are here so that the process need not
import asyncio and starts in half the time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

import msgspec

from headgate.crawling.child_process import Pipe
from headgate.crawling.page_reader import PageReader, ReadPage
from headgate.model.fetch import Fetched
from headgate.model.page import Links

__all__ = ["LENGTH_BYTES", "ReadAnswer", "ReadQuestion", "main", "serve"]

_NICE = 5

LENGTH_BYTES = 4


class ReadQuestion(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What reading a page needs of its response besides the body."""

    agent: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    ignore: tuple[str, ...] | None = None

    def read(self, body: bytes) -> ReadPage:
        fetched = Fetched(
            self.url,
            self.status,
            headers=self.headers,
            request_head=b"",
            response_head=b"",
            payload=body,
            address="",
            wall_time=0.0,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=0,
        )
        return PageReader(self.agent, ignore=self.ignore).read(fetched, body)


class ReadAnswer(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What was read. ``to_follow`` is None if it is all links."""

    title: str
    language: str
    digest: bytes
    links: Links | None
    to_follow: Sequence[str] | None

    @classmethod
    def from_page(cls, read: ReadPage) -> ReadAnswer:
        links = read.links
        same = links is not None and read.to_follow is links.targets
        return cls(read.title, read.language, read.digest, links, None if same else read.to_follow)

    def page(self) -> ReadPage:
        to_follow = self.to_follow
        if to_follow is None:
            assert self.links is not None
            to_follow = self.links.targets
        return ReadPage(self.title, self.language, self.links, to_follow, self.digest)


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
        return _encode(ReadAnswer.from_page(_decode(question).read(body)))
    except Exception:
        return b""


def main(pipe: Pipe) -> None:
    os.nice(_NICE)
    with pipe.detach() as end, end.makefile("rb") as questions:
        serve(questions, end)
