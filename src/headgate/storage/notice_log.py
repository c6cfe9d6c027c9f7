"""``notices.jsonl``: notices of changes that are still to be sent, so that a restart forgets none.

A line for each notice, and another when it is done. Lines are written at once but not synced: they
survive the process, but a power cut may lose those of the last seconds. Only the notice is lost
then; the change itself is in the archive. The file is rewritten with open notices when it is
opened, and whenever most of its lines are done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from headgate.model.change_notice import ChangeNotice
from headgate.model.errors import UserMistake
from headgate.storage.faults import writing
from headgate.storage.own_files import open_own, opened
from headgate.storage.replacing import write_whole

__all__ = ["NoticeLog"]

_NAME = "notices.jsonl"
_MOST_BYTES = 500_000_000
_TIDY_AFTER = 5_000
"""Lines of notices that are done."""


class _Line(msgspec.Struct, omit_defaults=True):
    number: int
    notice: ChangeNotice | None = None
    """None: it is done."""


class NoticeLog:
    """Numbers only grow, also over restarts while any notice is open."""

    def __init__(self, collection: Path) -> None:
        self._path = collection / _NAME
        self.open: dict[int, ChangeNotice] = dict(_read(self._path))
        self._next = max(self.open, default=0) + 1
        self._done = 0
        self._fd = -1
        self._tidy()

    @staticmethod
    def is_in(collection: Path) -> bool:
        """Whether the collection has one."""
        return (collection / _NAME).exists()

    def add(self, notice: ChangeNotice) -> int:
        """Returns its number."""
        number = self._next
        self._write(_Line(number, notice))
        self._next += 1
        self.open[number] = notice
        return number

    def done(self, number: int) -> None:
        self.open.pop(number, None)
        self._write(_Line(number))
        self._done += 1
        if self._done >= _TIDY_AFTER and self._done >= len(self.open):
            self._tidy()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, line: _Line) -> None:
        data = memoryview(msgspec.json.encode(line) + b"\n")
        with writing(self._path):
            while data:
                data = data[os.write(self._fd, data) :]

    def _tidy(self) -> None:
        lines = (_Line(number, notice) for number, notice in self.open.items())
        write_whole(self._path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        self.close()
        with writing(self._path):
            self._fd = open_own(self._path, os.O_WRONLY | os.O_APPEND)
        self._done = 0


def _read(path: Path) -> Iterator[tuple[int, ChangeNotice]]:
    """Open notices; torn lines are ignored."""
    found: dict[int, ChangeNotice] = {}
    try:
        with opened(path) as file:
            lines = file.read(_MOST_BYTES).splitlines()
    except (OSError, UserMistake):
        return
    for text in lines:
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.MsgspecError:
            continue
        if line.notice is None:
            found.pop(line.number, None)
        else:
            found[line.number] = line.notice
    yield from found.items()
