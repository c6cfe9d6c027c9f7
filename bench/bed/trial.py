"""One run on the bed: servers at a distance, a crawler or a tool, and what the interface saw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bench.bed.client import ClientReport, ClientSettings
from bench.bed.network import Bed, ServerPath
from bench.bed.readings import Readings

__all__ = ["run_client", "run_tool"]

_ROOT = Path(__file__).parents[2]
_PORT = "80"


def run_client(settings: ClientSettings, rtt_seconds: float) -> tuple[ClientReport, Readings]:
    """Headgate's fetcher."""
    with Bed([ServerPath(address, rtt_seconds) for address in settings.addresses]) as bed:
        command = bed.client(sys.executable, "-m", "bench.bed.client")
        said, readings = _measured(bed, command, json.dumps(asdict(settings)))
    return ClientReport(**json.loads(said)), readings


def run_tool(command: list[str], addresses: list[str], rtt_seconds: float) -> Readings:
    """Another program, for as long as it takes."""
    with Bed([ServerPath(address, rtt_seconds) for address in addresses]) as bed:
        return _measured(bed, bed.client(*command), "")[1]


def _measured(bed: Bed, command: list[str], told: str) -> tuple[str, Readings]:
    os.chdir(_ROOT)
    bed.start_server(sys.executable, "-m", "bench.bed.server", _PORT)
    records = bed.folder / "records"
    with records.open("wb") as out:
        meter = bed.start_meter(out)
        done = subprocess.run(command, input=told, stdout=subprocess.PIPE, text=True, check=False)
        bed.stop_meter(meter)
    return done.stdout, Readings(records)
