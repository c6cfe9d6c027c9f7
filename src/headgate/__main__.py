"""The ``headgate`` command as a process: its first and its last moments.

Before anything else is loaded Ctrl-C gets its plainest meaning, the end; and a standard stream that
was closed by whoever started us becomes one that leads nowhere. Otherwise the next file or socket
that is opened would take its number, and get what is said there. Then as many files may be open as
the system allows, in this process and in those that it starts.
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["start"]


def start() -> None:
    """Run the command and exit with its code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _fill_closed_streams()
    from headgate.cli.main import main
    from headgate.fetching.open_files import raise_limit

    raise_limit()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        _let_go(stream)
    sys.exit(code)


def _fill_closed_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            lowest_free = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(lowest_free, True)
            setattr(sys, name, open(lowest_free, mode, closefd=False))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a folder's name may be no text


def _let_go(stream: object) -> None:
    """Python flushes both once more on its way out, and would complain where nobody reads."""
    try:
        stream.flush()  # type: ignore[attr-defined]
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[attr-defined]


if __name__ == "__main__":
    start()
