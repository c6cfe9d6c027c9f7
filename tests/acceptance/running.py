"""Runs the real command: in a process of its own, or in this one where it refuses to start."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from headgate import site_file
from headgate.cli.main import main

__all__ = ["EXAMPLES", "headgate", "headgate_here"]

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


def headgate_here(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same in this process, for tables of mistakes: a process of its own for each would spend
    most of its time on imports."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
        code = main([*map(str, arguments)])
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), error.getvalue())
