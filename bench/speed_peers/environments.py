"""Virtual environments for what a bench compares: peers, and Headgate of another revision or under
another interpreter. They stay in the user's cache folder and are used again."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

__all__ = ["headgate_here", "headgate_under", "other_interpreter", "peers", "revision"]

_ROOT = Path(__file__).resolve().parents[2]
_DEBIANS = Path("/usr/bin/python3")


def peers(packages: Sequence[str]) -> str:
    """A Python of the same interpreter as ours, with these packages."""
    python, ready = _made(f"headgate-peers/{_named(sys.executable)}", sys.executable)
    if not ready.exists():
        _install(python, *packages)
        ready.touch()
    return str(python)


def revision(name: str) -> str:
    """A Python of the same interpreter as ours, with Headgate as of a commit."""
    commit = _git("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()
    key = f"headgate-revisions/{commit[:12]}-{_named(sys.executable)}"
    python, ready = _made(key, sys.executable)
    if not ready.exists():
        with tempfile.TemporaryDirectory(prefix="headgate-revision-") as folder:
            with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as archive:
                archive.extractall(folder, filter="data")
            _install(python, folder, constraints=Path(folder) / "constraints.txt")
        ready.touch()
    return str(python)


def headgate_here() -> str:
    """A Python of the same interpreter as ours, with Headgate as it stands here: installed as a
    commit is, since what a checkout loads it loads from other places and at another speed."""
    return headgate_under(Path(sys.executable))


def headgate_under(interpreter: Path) -> str:
    """A Python of another interpreter, with Headgate as it stands here."""
    python, ready = _made(f"headgate-interpreters/{_named(str(interpreter))}", str(interpreter))
    if not ready.exists():
        _install(python, str(_ROOT), constraints=_ROOT / "constraints.txt")
        ready.touch()
    _install(python, "--force-reinstall", "--no-deps", str(_ROOT))
    return str(python)


def other_interpreter() -> Path | None:
    """Debian's own, where we run under another one of the same version; None: there is none."""
    if not Path("/etc/debian_version").exists() or not _DEBIANS.exists():
        return None
    if os.path.realpath(sys.executable) == os.path.realpath(_DEBIANS):
        return None
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    fits = subprocess.run([_DEBIANS, "-c", code], check=False).returncode == 0
    return _DEBIANS if fits else None


def _made(key: str, interpreter: str) -> tuple[Path, Path]:
    """An environment's Python, and the file that says it is ready."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / key
    if not (home / "bin/python").exists():
        subprocess.run([interpreter, "-m", "venv", "--without-pip", home], check=True)
    return home / "bin/python", home / "ready"


def _named(interpreter: str) -> str:
    return hashlib.sha1(os.path.realpath(interpreter).encode()).hexdigest()[:8]


def _install(python: Path, *what: str, constraints: Path | None = None) -> None:
    """By our own pip: Debian's Python has none."""
    environment = dict(os.environ)
    if constraints is not None:
        environment["PIP_CONSTRAINT"] = str(constraints)
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *what]
    subprocess.run(command, check=True, env=environment)


def _git(*words: str) -> bytes:
    return subprocess.check_output(["git", "-C", _ROOT, *words])
