"""Other programs that promise a rate, as a user would start them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from bench.bed.trial import run_tool

from headgate_lab.bed.readings import Bins

__all__ = ["TOOLS", "missing_tools", "tool_bins"]

TOOLS = ("wget", "aria2", "httrack")
_PROGRAMS = {"wget": "wget", "aria2": "aria2c", "httrack": "httrack"}


def missing_tools() -> str | None:
    """What to install before the tools can be measured."""
    missing = [tool for tool in TOOLS if shutil.which(_PROGRAMS[tool]) is None]
    return (
        f"{', '.join(missing)} missing (apt-get install {' '.join(missing)})" if missing else None
    )


def tool_bins(
    tool: str, rate: float, urls: list[str], addresses: list[str], rtt: float | None, seconds: float
) -> Bins:
    """What the line carried while a tool fetched these, for so many seconds at the most.

    wget has one connection at a time, the others one or more per site. The last tenth of a second
    is left out: it is an end, not a limit.
    """
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "urls")
        listed.write_text("\n".join(urls))
        command = _command(tool, int(rate), len(addresses), listed)
        # HTTrack, asked to end, may wait for its servers without end.
        readings = run_tool(["timeout", "-k", "1", f"{seconds:g}", *command], addresses, rtt)
    begin, end = readings.span()
    return readings.received(begin, min(end, begin + seconds) - 0.1, *addresses)


def _command(tool: str, rate: int, sites: int, urls: Path) -> list[str]:
    if tool == "wget":
        return ["wget", "-q", "-O", "/dev/null", f"--limit-rate={rate}", "-i", str(urls)]
    if tool == "aria2":
        limit = f"--max-overall-download-limit={rate}"
        at_once = f"-j{min(max(sites, 5), 16)}"
        return ["aria2c", "-q", "-i", str(urls), "-d", str(urls.parent), limit, at_once]
    unbound = ["--disable-security-limits", "-s0", "-I0", "-q", "-Q"]
    return ["httrack", "-O", str(urls.parent), "-%L", str(urls), f"-A{rate}", "-c8", *unbound]
