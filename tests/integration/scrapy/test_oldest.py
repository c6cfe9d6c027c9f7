"""The tests of this folder once more, with the oldest Scrapy that is supported."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
OLDEST = "2.15.0"
PACKAGES = [
    f"scrapy=={OLDEST}",
    "twisted==25.5.0",  # the newest that it goes with
    *("httpx==0.28.1", "httpcore==1.0.9", "h11==0.16.0", "anyio==4.9.0", "sniffio==1.3.1"),
]  # the last line: its own handler where Twisted's reactor is not used
_TESTED = "HEADGATE_TESTED_WITH_OLDEST"


def oldest_scrapy() -> Path:
    """A folder of packages that stand before those of the environment, made once inside it."""
    home = Path(sys.prefix) / f"scrapy-{OLDEST}"
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            install = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]
            subprocess.run([sys.executable, *install, home, *PACKAGES], check=True)
            (home / "ready").touch()
    return home


def test_it_is_the_oldest_that_the_package_asks_for() -> None:
    wanted = re.search(r'scrapy = \["scrapy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert wanted is not None
    assert f"{wanted[1]}.0" == OLDEST


def test_the_oldest_does_as_the_newest() -> None:
    if os.environ.get(_TESTED):
        return
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}", str(HERE)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(oldest_scrapy()), _TESTED: OLDEST},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]


def test_this_is_the_version_meant() -> None:
    import scrapy

    assert os.environ.get(_TESTED, scrapy.__version__) == scrapy.__version__
