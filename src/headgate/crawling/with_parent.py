"""Processes that belong to the one that started them: it alone decides when they end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with_parent", "leave_signals_to_parent"]

_PR_SET_PDEATHSIG = 1
"""Of Linux: the signal to get when the parent dies."""
_PARENT_S = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent(parent: int) -> None:
    """End when the parent does, at once where the system can see to that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


def leave_signals_to_parent() -> None:
    """A terminal, or a service manager, asks all processes at once to end; the parent sees to the
    order of it."""
    for sign in _PARENT_S:
        signal.signal(sign, signal.SIG_IGN)
