"""Seals a volume, or removes old versions, in a process of its own: the keeper continues meanwhile,
and does not need the 60 MB that tables take. The process has a low priority and ends with the
keeper: unfinished work is repeated by the next one.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from headgate.crawling.child_process import Pipe, answer_of
from headgate.model.errors import HeadgateError, WorldFault
from headgate.storage.atomic_write import write_whole
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.retention import Freed

__all__ = ["main", "retain_in_child", "seal_here", "seal_in_child"]

_NICENESS = 10


async def seal_in_child(run: RunFolder) -> None:
    """`seal_here` in another process, which is killed on cancellation."""
    await _in_child(run.collection, "seal", run.stamp)


async def retain_in_child(collection: Path, now: float) -> Freed:
    """`apply_retention` in another process, which is killed on cancellation; the next one repeats
    its unfinished work."""
    answer = await _in_child(collection, "retain", str(now))
    return msgspec.json.decode(answer, type=Freed)


async def _in_child(collection: Path, what: str, which: str) -> bytes:
    """Without a limit: a volume takes as long as its size and the disk want, and nothing waits."""
    module = "headgate.features.keep.sealing_child"
    try:
        answer = await answer_of(module, b"", str(collection), what, which)
    except EOFError as end:
        raise WorldFault(f"the process that seals broke off: {end}") from None
    trouble, found = msgspec.msgpack.decode(answer, type=tuple[str, bytes])
    if trouble:
        raise WorldFault(trouble)
    return found


def seal_here(run: RunFolder) -> None:
    """Make index, tables and report of a volume; idempotent."""
    from headgate.engine.report_pages import write_report_page
    from headgate.features.keep.volumes import volume_report  # here: for the child alone
    from headgate.storage.sealing import seal_volume  # which brings 60 MB

    seal_volume(run)
    with SqliteCatalog(Collection(run.collection).catalog) as catalog:
        started = next((one.started for one in catalog.runs() if one.stamp == run.stamp), 0.0)
        report = volume_report(run.stamp, started, catalog.visits_of(run.stamp))
    write_whole(run.path / "report.json", msgspec.json.encode(report))
    write_report_page(report, run.path)


def main(pipe: Pipe, collection: str, what: str, which: str) -> None:
    os.nice(_NICENESS)
    found, trouble = b"", ""
    try:
        if what == "seal":
            seal_here(RunFolder(Path(collection), which))
        else:
            from headgate.storage.retention import apply_retention  # here: it brings 60 MB

            found = msgspec.json.encode(apply_retention(Collection(Path(collection)), float(which)))
    except (HeadgateError, OSError) as fault:
        trouble = str(fault) or type(fault).__name__
    pipe.send(msgspec.msgpack.encode((trouble, found)))
