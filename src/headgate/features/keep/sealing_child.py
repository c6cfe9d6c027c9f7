"""Seals a volume, or removes old versions, in a process of its own: the keeper continues meanwhile,
and does not need the 60 MB that tables take. The process has a low priority and ends with the
keeper: unfinished work is repeated by the next one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import msgspec

from headgate.crawling.child_process import die_with_parent, leave_signals_to_parent
from headgate.model.errors import HeadgateError, WorldFault
from headgate.storage.atomic_write import write_whole
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.retention import Freed

__all__ = ["retain_in_child", "seal_here", "seal_in_child"]

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
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headgate.features.keep.sealing_child", str(os.getpid()),
        str(collection), what, which, stdout=PIPE,
    )  # fmt: skip
    try:
        answer, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        words = answer.decode("utf-8", "replace").strip()
        raise WorldFault(words or f"the process that seals ended with {process.returncode}")
    return answer


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


def main() -> None:
    """The main function of the child process; signals are left to the parent."""
    leave_signals_to_parent()
    die_with_parent(int(sys.argv[1]))
    os.nice(_NICENESS)
    collection, what, which = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    try:
        if what == "seal":
            seal_here(RunFolder(collection, which))
        else:
            from headgate.storage.retention import apply_retention  # here: it brings 60 MB

            freed = apply_retention(Collection(collection), float(which))
            sys.stdout.write(msgspec.json.encode(freed).decode())
    except (HeadgateError, OSError) as fault:
        sys.stdout.write(str(fault))
        sys.exit(1)


if __name__ == "__main__":
    main()
