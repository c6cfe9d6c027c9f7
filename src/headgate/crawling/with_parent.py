"""Ties a child process to its parent, which alone decides when it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with_parent", "leave_signals_to_parent"]

_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl: the signal to get when the parent dies."""
_LEFT_TO_PARENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent(parent: int) -> None:
    """End when the parent does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


def leave_signals_to_parent() -> None:
    """Ignore signals that a terminal or a service manager sends to all processes at once: the
    parent ends its children in order."""
    for number in _LEFT_TO_PARENT:
        signal.signal(number, signal.SIG_IGN)
