"""A form on the bed: namespaces, servers at their distances and speeds, the meter at the interface.

Forms run side by side, each on a bed of its own in a process of its own: at 140 KB/s a bed has next
to nothing to do, and a minute is a minute.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from headgate.lab.bed.network import Bed, ServerPath, server_address
from headgate.lab.bed.trial import measured
from headgate.lab.papers.diligenti2004.client import ClientReport, ClientSettings
from headgate.lab.papers.diligenti2004.forms import Form
from headgate.lab.papers.diligenti2004.trace import Trace
from headgate.lab.papers.diligenti2004.world import make_world
from headgate.model.errors import WorldFault

__all__ = ["run_on_the_bed"]

_CLIENT = "headgate.lab.papers.diligenti2004.client"


def run_on_the_bed(form: Form, seed: int, seconds: float) -> Trace:
    """The queue for so long, from a cold start."""
    paths = [
        ServerPath(server_address(number), server.rtt_seconds, server.bytes_per_second)
        for number, server in enumerate(make_world(seed).servers)
    ]
    settings = ClientSettings(form.name, seed, seconds)
    with Bed(paths) as bed:
        command = bed.client(sys.executable, "-m", _CLIENT)
        said, readings = measured(bed, command, json.dumps(asdict(settings)))
    if not said:
        raise WorldFault(f"{form.title}: the crawl on the bed failed; its errors are above")
    report = ClientReport(**json.loads(said))
    return Trace(
        seconds,
        readings.received(report.started, report.started + seconds),
        report.predicted,
        report.starts,
        report.ended,
        report.failures,
    )
