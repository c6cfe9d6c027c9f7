"""Processes of tests and benches that do not outlive them, however these end."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

__all__ = ["ended_with_us"]


def ended_with_us(command: Sequence[str | Path]) -> list[str]:
    """The same command, which Linux ends when the thread that started it does."""
    setpriv = shutil.which("setpriv")
    words = [str(word) for word in command]
    return words if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--", *words]
