"""A process that reads large pages and dies of some of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headgate.crawling import reading_child
from headgate.crawling.child_process import Pipe


class _Breaking(Pipe):
    def __iter__(self) -> Iterator[bytes]:
        for message in super().__iter__():
            if b"breaks the reader" in message:
                os._exit(1)
            yield message


def main(pipe: Pipe) -> None:
    reading_child.main(_Breaking(pipe.detach()))
