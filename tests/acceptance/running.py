"""Runs the real command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from headgate import site_file

__all__ = ["EXAMPLES", "headgate"]

EXAMPLES = Path(site_file.__file__).with_name("examples")


def headgate(
    *arguments: str | Path, stdin: bytes | None = None, seconds: float = 120.0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The finished command, with what it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", "headgate", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=seconds,
        env={**os.environ, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1", **environment},
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode()
    )
