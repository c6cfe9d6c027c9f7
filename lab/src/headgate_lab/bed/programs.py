"""The bed's C programs, compiled when first needed and kept for as long as their source stays.

C is needed because a packet costs Python 10 µs or more, and the bed has to carry 10 MB/s on the
machine that also runs crawler and server, without distorting the measurement.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["compiled", "compiler"]

_SOURCES = Path(__file__).parent


def compiler() -> str | None:
    """The C compiler's command, if there is one."""
    return shutil.which("cc") or shutil.which("gcc")


def compiled(name: str) -> Path:
    """The program built from ``<name>.c`` beside this file."""
    source = _SOURCES / f"{name}.c"
    digest = hashlib.blake2b(source.read_bytes(), digest_size=8).hexdigest()
    program = Path(tempfile.gettempdir()) / f"headgate-{name}-{digest}"
    if program.exists():
        return program
    command = compiler()
    if command is None:
        raise RuntimeError("the bed needs a C compiler: apt-get install gcc libc6-dev")
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fresh = Path(folder) / name
        subprocess.run([command, "-O2", "-Wall", "-pthread", "-o", fresh, source], check=True)
        fresh.replace(program)
    return program
