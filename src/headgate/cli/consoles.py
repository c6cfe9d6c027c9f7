"""Rich consoles for a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["ProgressConsole", "printed", "progress_console"]

_PIPED_WIDTH = 100
_PLAIN = str.maketrans("█▉▊▋▌▍▎▏▐▒·│›╵▁▂▃▄▅▆▇…–≥", "#########x.|>'__--==*.->")
"""ASCII replacements, for outputs that cannot encode our characters."""


@contextmanager
def printed(piped_width: int = _PIPED_WIDTH) -> Iterator[Console]:
    """A console whose output goes to stdout in one piece, in characters that stdout can encode.
    ``piped_width``: least number of columns in a pipe."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(piped_width, console.width)
        console.soft_wrap = True
    with console.capture() as capture:
        yield console
    text = capture.get()
    encoding = sys.stdout.encoding
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
    sys.stdout.write(text)


class ProgressConsole(Console):
    """A console that survives a closed terminal or pipe, where Rich would end the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


def progress_console() -> ProgressConsole:
    """On stderr: stdout is for results."""
    return ProgressConsole(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
