"""The state of a run beside its journals: its time and its report so far.

The time is saved every two seconds, at every orderly end, and before the first byte. To a leg that
was killed, the two seconds since its last save are added: a deadline is never counted in our
favour. The report so far is continued by a resumed run, shown by ``headgate report``, and stays
when a run is abandoned.

Saving waits for the disk in a thread; only the newest state is saved.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from headgate.crawling.pieces import Pieces
from headgate.model.errors import DamagedFile
from headgate.model.run_report import RunReport, SiteReport
from headgate.storage.collection import RunFolder
from headgate.storage.elapsed import Elapsed, ElapsedFile, decode_elapsed
from headgate.storage.faults import writing

__all__ = [
    "SAVE_SECONDS",
    "RunState",
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
    """Saves the state of one leg; in an event loop until `end`."""

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
