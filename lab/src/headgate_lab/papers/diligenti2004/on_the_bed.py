"""A form on the bed: namespaces, servers at their distances and speeds, the meter at the interface.

Forms run side by side, each on a bed of its own in a process of its own: at 140 KB/s a bed has next
to nothing to do, and a minute is a minute.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from headgate.model.errors import WorldFault
from headgate_lab.bed.network import Bed, ServerPath, server_address
from headgate_lab.bed.trial import measured
from headgate_lab.papers.diligenti2004.client import ClientReport, ClientSettings
from headgate_lab.papers.diligenti2004.forms import Form
from headgate_lab.papers.diligenti2004.trace import Trace
from headgate_lab.papers.diligenti2004.world import make_world

__all__ = ["run_on_the_bed"]

_CLIENT = "headgate_lab.papers.diligenti2004.client"


def run_on_the_bed(form: Form, seed: int, seconds: float) -> Trace:
    """The queue for so long, from a cold start."""
    paths = [
        ServerPath(server_address(number), server.rtt_seconds, server.bytes_per_second)
        for number, server in enumerate(make_world(seed).servers)
    ]
    with Bed(paths) as bed:
        file = bed.folder / "report.json"
        settings = ClientSettings(form.name, seed, seconds, str(file))
        command = bed.client(sys.executable, "-m", _CLIENT)
        _, readings = measured(bed, command, json.dumps(asdict(settings)))
        if not file.exists():
            raise WorldFault(f"{form.title}: the crawl on the bed came to no end; run it again")
        report = ClientReport(**json.loads(file.read_text(encoding="utf-8")))
    times = (report.started, report.started + seconds)
    return Trace(
        seconds,
        readings.received(*times),
        predicted=report.predicted,
        starts=report.starts,
        ended=report.ended,
        failures=report.failures,
        pause=readings.longest_pause(*times),
    )
