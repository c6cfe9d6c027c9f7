"""Recovers the files of a run that no process writes to any more: journals and WARC files are cut
to what was committed.

Opening a site's files recovers them, but not every run that a kill ended opens each of them again
before it is sealed: its archive would have records that index and tables lack, and after a power
cut perhaps half of one.

Idempotent.
"""

from __future__ import annotations

import re
from pathlib import Path

from headgate.model.errors import HeadgateError
from headgate.storage.collection import RunFolder
from headgate.storage.faults import writing
from headgate.storage.journals.journal import read_owner
from headgate.storage.journals.shared_files import recover_number
from headgate.storage.journals.spool_files import SpoolFiles

__all__ = ["recover_files"]

_WARC = re.compile(r"(.+)-\d{5}\.warc\.gz")


def recover_files(run: RunFolder) -> list[str]:
    """Returns why some could not be recovered, a sentence each; those stay as they are."""
    faults: list[str] = []
    told_of = {path.stem for path in run.shared_journals()}
    for number in run.shared_numbers():
        try:
            recover_number(run, number)
        except HeadgateError as error:
            faults.append(str(error))
    for path in run.journals():
        try:
            if _recover_own(run, path):
                told_of.add(path.stem)
        except HeadgateError as error:
            faults.append(str(error))
            told_of.add(path.stem)
    for file in run.warc.glob("*.warc.gz"):
        found = _WARC.fullmatch(file.name)
        if found is not None and found[1] not in told_of:
            with writing(file):
                file.unlink()  # nothing of it was ever reported stored
    return faults


def _recover_own(run: RunFolder, journal: Path) -> bool:
    """False: a crash came before the journal was written."""
    owner = read_owner(journal)
    if owner is not None:
        SpoolFiles(run.place(owner.site, visit=owner.visit)).close()
    return owner is not None
