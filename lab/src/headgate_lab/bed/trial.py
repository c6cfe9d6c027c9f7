"""One run on the bed: a command on the client's side, and the bytes at its interface."""

from __future__ import annotations

import subprocess
import sys

from headgate_lab.bed.network import Bed
from headgate_lab.bed.readings import Readings

__all__ = ["measured"]

_PORT = "80"


def measured(bed: Bed, command: list[str], told: str = "") -> tuple[str, Readings]:
    """Run a command made by `Bed.client` to its end; returns its output first."""
    bed.start_server(sys.executable, "-m", "headgate_lab.bed.server", _PORT)
    records, pauses = bed.folder / "records", bed.folder / "pauses"
    with records.open("wb") as out, pauses.open("wb") as late:
        watch = bed.start_watch(late)
        meter = bed.start_meter(out)
        done = subprocess.run(command, input=told, stdout=subprocess.PIPE, text=True, check=False)
        bed.stop_meter(meter)
        watch.communicate()
    return done.stdout, Readings(records, pauses)
