"""How long a machine takes for a site, and how fast a machine is.

The paper's sum over a site's pages, put right twice. Bytes take P/v_web + P/v = P·(1/v_web + 1/v)
seconds, where the paper prints P·1/(1/v_web + 1/v), which multiplies by the speed. And what it
drops as small, 0.2 to 0.3 s for name, connection and answer, is taken once per **request**, not
once per site: of a thousand pages that is 200 to 300 s, all of the time that it measured for one.
So, for N pages and P bytes,

    seconds = N · max(delay, rtt + ttfb) + P · (1/v_web + 1/v_machine)

and the first term dominates: measured times (batch job 2) say more than sizes (batch job 1).

A machine's speed is that of a **reference site** which all machines scan: only ratios count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a manager makes tasks without NumPy
    from headgate.placing.partition import FloatArray

__all__ = ["ScanCost", "reference_speeds", "scan_seconds"]


@dataclass(frozen=True, slots=True)
class ScanCost:
    """A site as one machine meets it."""

    pages: float
    size_bytes: float
    answer_seconds: float
    """From asking to the first byte: round trip and the server's own time."""
    web_bytes_per_second: float
    delay_seconds: float = 0.0
    """Between two requests, as politeness asks."""


def scan_seconds(site: ScanCost, machine_bytes_per_second: float) -> float:
    """
    >>> site = ScanCost(1000, 20e6, answer_seconds=0.25, web_bytes_per_second=2e6)
    >>> scan_seconds(site, machine_bytes_per_second=10e6)
    262.0
    """
    requests = site.pages * max(site.delay_seconds, site.answer_seconds)
    per_byte = 1 / site.web_bytes_per_second + 1 / machine_bytes_per_second
    return requests + site.size_bytes * per_byte


def reference_speeds(reference_seconds: FloatArray) -> FloatArray:
    """Of machines by their times for the reference site; 1 in the mean.

    >>> import numpy as np
    >>> reference_speeds(np.array([100.0, 50.0])).round(3).tolist()
    [0.667, 1.333]
    """
    speeds = 1 / reference_seconds
    relative: FloatArray = speeds / speeds.mean()
    return relative
