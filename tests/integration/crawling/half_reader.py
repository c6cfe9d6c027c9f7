"""A process that takes a page to read, and stands still or dies in the middle of its answer."""

from __future__ import annotations

import time

from headgate.crawling.child_process import Pipe


def main(pipe: Pipe, then: str) -> None:
    pipe.receive()
    with pipe.detach() as end:
        end.sendall((9).to_bytes(8) + b"\x80\x05")
        if then == "stands still":
            time.sleep(600)
