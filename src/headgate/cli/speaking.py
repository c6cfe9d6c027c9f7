"""Output: results on stdout, remarks on stderr.

Names, titles and URLs come from strangers, and terminals interpret control characters: all of them
but newlines are escaped. A remark that cannot be written (the terminal or pipe was closed) is
dropped: it must not end a crawl.

A result is written completely. Without Python's buffer (``PYTHONUNBUFFERED``) a write may be short,
after a signal or if a non-blocking pipe is full.
"""

from __future__ import annotations

import select
import sys
from contextlib import suppress
from typing import BinaryIO

from headgate.model.harmless_json import harmless_json
from headgate.views.markup import printable

__all__ = ["say", "show", "show_json"]


def say(remark: str) -> None:
    """One line on stderr."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"headgate: {printable(' '.join(remark.splitlines()))}\n")
        sys.stderr.flush()


def show(text: str) -> None:
    """Lines on stdout, a command's result."""
    text = "\n".join(map(printable, text.split("\n"))) + "\n"
    if sys.stdout is None:  # closed before we started
        return
    _write_all(text.encode(sys.stdout.encoding, sys.stdout.errors or "strict"))


def show_json(document: bytes) -> None:
    """A document on stdout, and a newline."""
    _write_all(harmless_json(document) + b"\n")


def _write_all(data: bytes) -> None:
    sys.stdout.flush()
    out = sys.stdout.buffer
    left = memoryview(data)
    while left:
        try:
            written = out.write(left)
        except BlockingIOError as full:
            left = left[full.characters_written :]
            _wait_for(out)
        else:
            if written is None:  # a full pipe, without a buffer
                _wait_for(out)
            left = left[written or 0 :]
    _flush(out)


def _flush(out: BinaryIO) -> None:
    while True:
        try:
            out.flush()
        except BlockingIOError:
            _wait_for(out)
        else:
            return


def _wait_for(out: BinaryIO) -> None:
    """Wait until it is writable."""
    poll = select.poll()
    poll.register(out, select.POLLOUT)
    poll.poll()
