"""Other people's tools that need versions of packages which cannot live beside ours.

pywb needs an old Brotli binding, others have a large family. Each has its own environment, made
once inside the developer's own, and gone with it.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

PYWB = "pywb==2.10.0"
WACZ = "wacz==0.6.0"
DATASETTE = "datasette==0.65.5"


@pytest.fixture(scope="session")
def pywb_bin() -> Path:
    """The folder with pywb's commands."""
    return installed(PYWB)


@pytest.fixture(scope="session")
def wacz_bin() -> Path:
    """The folder with the command that checks WACZ files."""
    return installed(WACZ)


@pytest.fixture(scope="session")
def datasette_bin() -> Path:
    """The folder with Datasette's command."""
    return installed(DATASETTE)


def installed(package: str) -> Path:
    home = Path(sys.prefix) / package.partition("=")[0]
    ready = home / "ready"
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            run("-m", "venv", "--clear", str(home))
            run("-m", "pip", "--python", str(home), "install", "--quiet", package)
            ready.touch()
    return home / "bin"


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True)
