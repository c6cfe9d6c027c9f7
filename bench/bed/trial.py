"""A crawler or a tool on the bed, all servers at one distance, or on loopback."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from bench.bed.client import ClientReport, ClientSettings

from headgate_lab.bed.network import Bed, LoopbackBed, ServerPath
from headgate_lab.bed.readings import Readings
from headgate_lab.bed.trial import measured

__all__ = ["run_client", "run_tool"]

_ROOT = Path(__file__).parents[2]


def run_client(
    settings: ClientSettings, rtt_seconds: float | None, python: str = sys.executable
) -> tuple[ClientReport, Readings]:
    """Headgate's fetcher, as that Python has it."""
    os.chdir(_ROOT)  # where the client is found as a module
    with _bed(settings.addresses, rtt_seconds) as bed:
        command = bed.client(python, "-m", "bench.bed.client")
        said, readings = measured(bed, command, json.dumps(asdict(settings)))
    return ClientReport(**json.loads(said)), readings


def run_tool(command: list[str], addresses: list[str], rtt_seconds: float | None) -> Readings:
    """Another program, for as long as it takes."""
    with _bed(addresses, rtt_seconds) as bed:
        return measured(bed, bed.client(*command))[1]


def _bed(addresses: list[str], rtt_seconds: float | None) -> Bed:
    if rtt_seconds is None:
        return LoopbackBed()
    return Bed([ServerPath(address, rtt_seconds) for address in addresses])
