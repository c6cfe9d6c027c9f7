"""Whether a run was begun here: its request carries a mark that nobody else can make.

A run that is resumed is named by its folder, and the folder may be somebody else's: its request
names environment variables, key files and hosts, and whoever resumes it would send his secrets
there. So the request of a new run is signed with a key of this user's, which stays in his home.

The mark says who asked, not what was stored since.
"""

from __future__ import annotations

import hmac
import os
from contextlib import suppress
from pathlib import Path

from headgate.model.errors import UserMistake
from headgate.storage.collection import RunFolder
from headgate.storage.safe_files import opened

__all__ = ["is_begun_here", "key_file", "mark_as_begun_here"]

_MARK = "begun-here"
_KEY_BYTES = 32


def key_file() -> Path:
    """Where this user's key is: the XDG Base Directory Specification."""
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    home = named if named.is_absolute() else Path.home() / ".local" / "state"
    return home / "headgate" / "runs.key"


def mark_as_begun_here(run: RunFolder, name: str, request: bytes) -> None:
    """Before the request is saved under this name. There is no mark if there is no home to keep a
    key in."""
    key = _key(make=True)
    if key is not None:
        run.save(_MARK, _signed(key, run, name, request))


def is_begun_here(run: RunFolder, name: str) -> bool:
    """Whether the request that the run has under this name is this user's."""
    key, request, mark = _key(make=False), run.load(name), run.load(_MARK)
    if key is None or request is None or mark is None:
        return False
    return hmac.compare_digest(_signed(key, run, name, request), mark)


def _signed(key: bytes, run: RunFolder, name: str, request: bytes) -> bytes:
    signed = b"\0".join((b"headgate", name.encode(), run.stamp.encode(), request))
    return hmac.new(key, signed, "sha256").hexdigest().encode()


def _key(*, make: bool) -> bytes | None:
    try:
        path = key_file()
        if make and not path.exists():
            _make_key(path)
        with opened(path) as file:
            key = file.read(_KEY_BYTES)
    except (OSError, RuntimeError, UserMistake):  # RuntimeError: nobody's home
        return None
    return key if len(key) == _KEY_BYTES else None


def _make_key(path: Path) -> None:
    """It appears complete; of two processes that make one, the first wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
            file.flush()
            os.fsync(fd)
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
