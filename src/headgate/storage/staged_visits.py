"""Moves visits that nodes made for a keeper into a volume.

    arriving/spool/kept/<site>~<visit>.journal          ─►   spool/<volume>/
    arriving/runs/kept/warc/<site>~<visit>-00001.warc.gz ─►   runs/<volume>/warc/

Results are received under one name, whichever volume is open: it may be full by the time they are
complete. WARC files are moved first and the journal last, so that after a crash the journal says
what is still to be moved.
"""

from __future__ import annotations

from pathlib import Path

from headgate.storage.collection import RunFolder
from headgate.storage.faults import writing
from headgate.storage.journals.appending import sync_folder
from headgate.storage.journals.journal import Owner, read_owner

__all__ = ["KEPT", "move_visit", "prepare_staging", "staged_visits", "staging"]

KEPT = "kept"
"""The run that a keeper's tasks belong to, on the board and on nodes."""


def staging(collection: Path) -> RunFolder:
    """Where visits wait to be moved."""
    return RunFolder(collection / "arriving", KEPT)


def prepare_staging(collection: Path) -> RunFolder:
    run = staging(collection)
    with writing(run.path):
        run.warc.mkdir(parents=True, exist_ok=True)
        run.spool.mkdir(parents=True, exist_ok=True)
    return run


def move_visit(volume: RunFolder, owner: Owner) -> None:
    """Durable when it returns; done again, it changes nothing."""
    here = staging(volume.collection).place(owner.site, visit=owner.visit)
    there = volume.place(owner.site, visit=owner.visit)
    number = 1
    while (file := here.warc.path(number)).exists() or there.warc.path(number).exists():
        if file.exists():
            with writing(there.warc.path(number)):
                file.rename(there.warc.path(number))
        number += 1
    sync_folder(volume.warc)
    if here.journal.exists():
        with writing(there.journal):
            here.journal.rename(there.journal)
        sync_folder(volume.spool)


def staged_visits(collection: Path) -> list[Owner]:
    """Visits that were not moved because of a crash."""
    spool = staging(collection).spool
    found = [read_owner(path) for path in sorted(spool.glob("*.journal"))]
    return [owner for owner in found if owner is not None]
