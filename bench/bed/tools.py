"""Other programs that promise a rate, as a user would start them."""

from __future__ import annotations

import shutil
import tempfile

from bench.bed.trial import run_tool

from headgate.lab.bed.readings import Bins
from headgate.lab.bed.server import LARGE_BYTES, SMALL_BYTES

__all__ = ["TOOLS", "missing_tools", "tool_bins"]

TOOLS = ("wget", "curl", "aria2")
_PROGRAMS = {"wget": "wget", "curl": "curl", "aria2": "aria2c"}


def missing_tools() -> str | None:
    """What to install before the tools can be measured."""
    missing = [tool for tool in TOOLS if shutil.which(_PROGRAMS[tool]) is None]
    return (
        f"{', '.join(missing)} missing (apt-get install {' '.join(missing)})" if missing else None
    )


def tool_bins(
    tool: str, rate: float, addresses: list[str], rtt: float, kind: str, seconds: float
) -> Bins:
    """What the line carried while a tool fetched about so many seconds' worth of the limit.

    wget and curl have one connection at a time, so only aria2 uses all the sites at once. The last
    tenth of a second is left out: it is an end, not a limit.
    """
    size = SMALL_BYTES if kind == "small" else LARGE_BYTES
    count = max(len(addresses), int(rate * seconds / size))
    urls = [f"http://{addresses[n % len(addresses)]}/{kind}/{n}" for n in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        shell = f"timeout {seconds:g} {_command(tool, int(rate), len(addresses), folder)}"
        told = f"{shell} <<'URLS'\n{chr(10).join(urls)}\nURLS"
        readings = run_tool(["sh", "-c", told], addresses, rtt)
    begin, end = readings.span()
    return readings.received(begin, min(end, begin + seconds) - 0.1)


def _command(tool: str, rate: int, sites: int, folder: str) -> str:
    return {
        "wget": f"wget -q -O /dev/null --limit-rate={rate} -i -",
        "curl": f"xargs curl -s --limit-rate {rate} -o /dev/null",
        "aria2": (
            f"aria2c -q -i - -d {folder} --allow-overwrite=true --file-allocation=none "
            f"--max-overall-download-limit={rate} -j {min(sites, 16)}"
        ),
    }[tool]
