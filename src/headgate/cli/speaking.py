"""Words for whoever called: results on stdout, remarks on stderr.

Names, titles and URLs come from strangers, and a terminal obeys some bytes: nothing but a line's
end gets there raw. A remark that nobody can hear any more (a terminal that went away, a pipe that
was closed) is dropped: no crawl ends for want of a listener.

A result is written to its end. Without Python's buffer (``PYTHONUNBUFFERED``) a write may stop
where a signal comes, or a pipe that another process set not to block is full, and say so only by
its answer.
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
    if sys.stdout is None:  # closed before we began
        return
    _write_all(text.encode(sys.stdout.encoding, sys.stdout.errors or "strict"))


def show_json(document: bytes) -> None:
    """A document on stdout, and a line's end."""
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
            if written is None:  # of a pipe that is full, without a buffer
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
    """Until it takes more."""
    select.select([], [out], [])
