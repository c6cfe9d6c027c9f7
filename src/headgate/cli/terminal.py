"""The terminal: results on stdout, remarks on stderr, and what Ctrl-C does."""

from __future__ import annotations

import asyncio
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import BinaryIO, TextIO

from headgate.report.markup import printable

__all__ = ["OpeningWords", "ending_at_once", "on_interrupt", "raising", "say", "show", "show_json"]


# Output: results on stdout, remarks on stderr.
#
# Names, titles and URLs come from strangers, and terminals interpret control characters: all of
# them but newlines are escaped. A remark that cannot be written (the terminal or pipe was closed)
# is dropped: it must not end a crawl.
#
# A result is written completely. Without Python's buffer (``PYTHONUNBUFFERED``) a write may be
# short, after a signal or if a non-blocking pipe is full.


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
    from headgate.model.encoding import harmless_json  # here: `--help` needs no msgspec

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


_CLEAR_LINE = "\r\x1b[2K"


class OpeningWords:
    """A line on the terminal while a command starts; the next output replaces it.

    Starting may take a second (the planner, the collection). Nothing is written if stderr is no
    terminal.

    ``say`` replaces the line, ``clear`` removes it; both are cheap.
    """

    def __init__(self, *, quiet: bool, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = False
        self._quiet = quiet or not self._stream.isatty()

    def say(self, words: str) -> None:
        if not self._quiet:
            self._write(f"{_CLEAR_LINE}{printable(words)}")
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            self._write(_CLEAR_LINE)
            self._shown = False

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


# What Ctrl-C, a closed terminal and `kill` do, from the first moment to the last.
#
# Python turns Ctrl-C into an exception. While modules are imported, that exception may get lost or
# turn into another one, and there is nothing to save yet: then the process simply ends.


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Within this context Ctrl-C ends the process silently."""
    with _handled_by(signal.SIG_DFL):
        yield


@contextmanager
def raising() -> Iterator[None]:
    """Within this context Ctrl-C raises `KeyboardInterrupt`."""
    with _handled_by(signal.default_int_handler):
        yield


def on_interrupt(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Call ``act`` on SIGINT, SIGTERM and SIGHUP while the loop runs; SIGHUP stays ignored after
    ``nohup``."""
    for sign in _ENDING:
        if sign is not signal.SIGHUP or signal.getsignal(sign) is not signal.SIG_IGN:
            loop.add_signal_handler(sign, act)


@contextmanager
def _handled_by(
    handler: signal.Handlers | Callable[[int, FrameType | None], object],
) -> Iterator[None]:
    """Does nothing if Ctrl-C is ignored, or outside the main thread."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
