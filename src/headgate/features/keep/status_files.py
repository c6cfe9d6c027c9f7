"""The status of a keeper in its collection: ``keep.json``, its hourly log, and its page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from headgate.features.keep.status import KeepHour, KeepStatus
from headgate.model.encoding import harmless_json
from headgate.model.errors import UserMistake, WorldFault
from headgate.storage.atomic_write import overwrite, write_soon, write_whole
from headgate.storage.safe_files import open_own, opened, writing

__all__ = [
    "add_hours",
    "is_kept",
    "load_hours",
    "load_status",
    "load_turns",
    "save_status",
    "save_turns",
    "write_keep_page",
]


# The status of a keeper, in its collection: ``keep.json``, the current state;
# ``keep-hours.jsonl``, a line for each past hour; and ``keep-turns-POLICY.json``, the state of a
# round-robin policy.
#
# The first two are for people; the third lets a policy continue where it was. Nothing in the
# archive depends on them: if one is lost or torn, the keeper goes on without it.


STATUS, HOURS = "keep.json", "keep-hours.jsonl"
_MOST_HOURS = 400 * 24
_MOST_STATUS, _MOST_HISTORY = 50_000_000, 200_000_000
_ROOM = 4096
"""Bytes of blanks behind a state: for the troubles of a later one that finds the disk full."""


def save_status(collection: Path, status: KeepStatus) -> None:
    """On a full disk it is written over the one before, which most file systems allow: there it has
    the most to tell."""
    path = collection / STATUS
    state = harmless_json(msgspec.json.encode(status))
    try:
        write_soon(path, state.ljust(len(state) + _ROOM) + b"\n")
    except WorldFault:
        if not is_kept(collection) or path.stat().st_size <= len(state):
            raise
        overwrite(path, 0, state.ljust(path.stat().st_size - 1) + b"\n")


def is_kept(collection: Path) -> bool:
    """Whether a keeper filled it."""
    return (collection / STATUS).is_file()


def load_status(collection: Path) -> KeepStatus | None:
    """None: nothing was kept there, or it cannot be read."""
    try:
        return msgspec.json.decode(_read(collection / STATUS, _MOST_STATUS), type=KeepStatus)
    except (OSError, UserMistake, msgspec.MsgspecError):
        return None


def add_hours(collection: Path, hours: Sequence[KeepHour]) -> None:
    """Append hours."""
    if not hours:
        return
    path = collection / HOURS
    lines = b"".join(msgspec.json.encode(hour) + b"\n" for hour in hours)
    with writing(path):
        fd = open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            end = os.lseek(fd, 0, os.SEEK_END)
            torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
            _write_all(fd, b"\n" + lines if torn else lines)
            os.fdatasync(fd)
        finally:
            os.close(fd)


def load_hours(collection: Path, *, trim: bool = False) -> list[KeepHour]:
    """The last 400 days, oldest first; ``trim`` also removes older ones from the file."""
    path = collection / HOURS
    try:
        lines = _read(path, _MOST_HISTORY).splitlines()
    except (OSError, UserMistake):
        return []
    by_start = {hour.start: hour for line in lines if (hour := _hour(line)) is not None}
    kept = [by_start[start] for start in sorted(by_start)][-_MOST_HOURS:]
    if trim and len(lines) > _MOST_HOURS:
        write_whole(path, b"".join(msgspec.json.encode(hour) + b"\n" for hour in kept))
    return kept


def save_turns(collection: Path, policy: str, turns: bytes) -> None:
    """Save the result of `SiteOrder.saved`; empty: the policy has no state."""
    if turns:
        write_soon(_turns(collection, policy), turns)


def load_turns(collection: Path, policy: str) -> bytes:
    try:
        return _read(_turns(collection, policy), _MOST_STATUS)
    except (OSError, UserMistake):
        return b""


def _turns(collection: Path, policy: str) -> Path:
    return collection / f"keep-turns-{policy}.json"


def _hour(line: bytes) -> KeepHour | None:
    """None: it is torn."""
    try:
        return msgspec.json.decode(line, type=KeepHour)
    except msgspec.MsgspecError:
        return None


def _read(path: Path, most: int) -> bytes:
    with opened(path) as file:
        return file.read(most)


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


_PAGE = "keep.html"


def write_keep_page(collection: Path, status: KeepStatus, now: float, *, alive: bool) -> Path:
    """Writes the HTML page of a keeper into its collection.

    Write the page from what is stored in the collection; return its path.
    """
    from headgate.features.keep.view.page import keep_page

    hours = load_hours(collection)
    if status.hour is not None and (not hours or hours[-1].start < status.hour.start):
        hours.append(status.hour)
    name = collection.resolve().name
    path = collection / _PAGE
    write_whole(path, keep_page(status, hours, name, now, alive=alive).encode("utf-8", "replace"))
    return path
