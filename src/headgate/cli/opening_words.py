"""A line on the terminal while a command starts; the next output replaces it.

Starting may take a second (the planner, the collection). Nothing is written if stderr is no
terminal.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TextIO

from headgate.views.markup import printable

__all__ = ["OpeningWords"]

_CLEAR_LINE = "\r\x1b[2K"


class OpeningWords:
    """``say`` replaces the line, ``clear`` removes it; both are cheap."""

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
