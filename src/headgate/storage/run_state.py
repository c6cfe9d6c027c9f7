"""The checkpoint of a run beside its journals: how long it has been crawling, and its report."""

from __future__ import annotations

import asyncio
import contextlib
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from zlib import crc32

import msgspec

from headgate.crawling.background_tasks import Pieces
from headgate.model.errors import DamagedFile
from headgate.model.run_report import RunReport, SiteReport
from headgate.storage.atomic_write import overwrite, write_whole
from headgate.storage.collection import RunFolder
from headgate.storage.safe_files import writing

__all__ = [
    "SAVE_SECONDS",
    "Elapsed",
    "ElapsedFile",
    "RunState",
    "decode_elapsed",
    "drop_budget",
    "encoded_report",
    "load_budget",
    "load_elapsed",
    "load_report",
    "save_budget",
]

SAVE_SECONDS = 2.0
_encode = msgspec.json.Encoder().encode
_ELAPSED, _REPORT, _BUDGET = "elapsed", "report", "budget"
_HERE = b"\0"
"""Where the sites go. In JSON there is no such byte, not even inside strings."""


def load_elapsed(run: RunFolder) -> float:
    """Seconds of crawling so far, rounded up."""
    data = run.load(_ELAPSED)
    return decode_elapsed(data, run.state_file(_ELAPSED), SAVE_SECONDS) if data else 0.0


def load_budget(run: RunFolder) -> float | None:
    """Bytes per second, as last set by `headgate budget`, perhaps infinity; None: never set."""
    text = run.load(_BUDGET)
    if text is None:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not rate > 0:
        remedy = "set it anew with 'headgate budget', or delete the file"
        raise DamagedFile(run.state_file(_BUDGET), "no rate", remedy)
    return rate


def save_budget(run: RunFolder, rate: float) -> None:
    """Set it: the run looks at it every second."""
    run.save(_BUDGET, repr(rate).encode())


def drop_budget(run: RunFolder) -> None:
    """Forget what `headgate budget` set."""
    path = run.state_file(_BUDGET)
    with writing(path):
        path.unlink(missing_ok=True)


def load_report(run: RunFolder) -> RunReport | None:
    """The report saved last; None: there is none."""
    remedy = "delete it: the run goes on, its report without what was before"
    report = run.load_as(_REPORT, RunReport, remedy)
    return None if report is None else msgspec.structs.replace(report, stamp=run.stamp)


def encoded_report(
    some_sites: Iterable[Sequence[SiteReport]], rest: Callable[[], RunReport]
) -> Pieces[bytearray]:
    """A report for `RunState`, encoded some sites at a time. Of a hundred thousand, 40 MB are in
    memory and not the values, too. ``rest``: all but the sites, known after the last of them."""
    data = bytearray()
    for some in some_sites:
        data += (b"," if data else b"[") + _encode(some)[1:-1]
        yield
    without = _encode(msgspec.structs.replace(rest(), sites=msgspec.Raw(_HERE)))
    before, _, after = without.partition(_HERE)
    data[:0] = before + (b"" if data else b"[")
    data += b"]" + after
    return data


class RunState:
    """The state of a run beside its journals: its time and its report so far.

    The time is saved every two seconds, at every orderly end, and before the first byte. To a leg
    that was killed, the two seconds since its last save are added: a deadline is never counted in
    our favour. The report so far is continued by a resumed run, shown by ``headgate report``, and
    stays when a run is abandoned.

    Saving waits for the disk in a thread; only the newest state is saved.

    Saves the state of one leg; in an event loop until `end`.
    """

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._elapsed = ElapsedFile(run.state_file(_ELAPSED))
        self._waiting: dict[str, Callable[[], None]] = {}
        self._saving: asyncio.Task[None] | None = None

    def save(self, seconds: float, report: bytearray | None = None) -> None:
        """Save soon, with a report that is encoded. Raises the error of an earlier save."""
        self._waiting[_ELAPSED] = partial(self._elapsed.write, Elapsed(seconds, ended=False))
        if report is not None:
            self._waiting[_REPORT] = partial(self._run.save, _REPORT, report)
        if self._saving is not None and self._saving.done():
            self._saving.result()
            self._saving = None
        if self._saving is None:
            self._saving = asyncio.get_running_loop().create_task(self._write())

    async def end(self, seconds: float, report: bytearray | None = None) -> None:
        """The leg has ended; saved when this returns."""
        if self._saving is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._saving
        if report is not None:
            self._run.save(_REPORT, report)
        self._elapsed.write(Elapsed(seconds, ended=True))

    async def _write(self) -> None:
        while self._waiting:
            _, save = self._waiting.popitem()
            await asyncio.to_thread(save)


_LONGEST_SECONDS = 1e10
_RECORD = struct.Struct("<d?")
_CHECKSUM = struct.Struct("<I")
_SLOT_BYTES = _RECORD.size + _CHECKSUM.size


class Elapsed(msgspec.Struct, frozen=True, order=True):
    """How long a run has been crawling, saved every two seconds.

    Replacing a file takes three waits for the disk; writing in place takes one, and a tenth of the
    CPU. Two slots with checksums are written in turn, so that a torn write costs one of them.

    The later of two is the larger.
    """

    seconds: float
    ended: bool
    """In order: no time is missing."""


class ElapsedFile:
    """Written by one leg."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writes = 0

    def write(self, elapsed: Elapsed) -> None:
        """Durable when this returns."""
        record = _RECORD.pack(elapsed.seconds, elapsed.ended)
        slot = record + _CHECKSUM.pack(crc32(record))
        if self._writes == 0:
            write_whole(self._path, 2 * slot)
        else:
            overwrite(self._path, self._writes % 2 * _SLOT_BYTES, slot)
        self._writes += 1


def decode_elapsed(data: bytes, path: Path, between: float) -> float:
    """Seconds of crawling, rounded up: to a leg that was killed, the most that may have passed
    since its last write (``between`` two writes) is added."""
    slots = (data[start : start + _SLOT_BYTES] for start in (0, _SLOT_BYTES))
    found = [elapsed for slot in slots if (elapsed := _decoded(slot)) is not None]
    if not found:
        remedy = "delete it: the run goes on, its time counted anew"
        raise DamagedFile(path, "no time in it, or another version of Headgate wrote it", remedy)
    last, torn = max(found), 2 - len(found)
    return last.seconds if last.ended else last.seconds + between * (1 + torn)


def _decoded(slot: bytes) -> Elapsed | None:
    record, checksum = slot[: _RECORD.size], slot[_RECORD.size :]
    if checksum != _CHECKSUM.pack(crc32(record)):
        return None
    elapsed = Elapsed(*_RECORD.unpack(record))
    return elapsed if 0 <= elapsed.seconds <= _LONGEST_SECONDS else None
