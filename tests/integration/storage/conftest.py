"""pywb needs an old Brotli binding that cannot live beside ours: it has its own environment.

It is made once, inside the developer's own virtual environment, and goes with it.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

PYWB = "pywb==2.10.0"


@pytest.fixture(scope="session")
def pywb_bin() -> Path:
    """The folder with pywb's commands."""
    home = Path(sys.prefix) / "pywb"
    ready = home / "ready"
    with home.with_name("pywb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            run("-m", "venv", "--clear", str(home))
            run("-m", "pip", "--python", str(home), "install", "--quiet", PYWB)
            ready.touch()
    return home / "bin"


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True)
