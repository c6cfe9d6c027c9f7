"""What a command costs: seconds by the clock and of CPU, and memory at its peak."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "cost_of"]

_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a command with all processes it starts; start-up included."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    """Resident, the sum over its processes at the worst moment."""
    exit_code: int
    output: str


def cost_of(command: Sequence[str], folder: Path, most_seconds: float) -> Cost:
    """Run it in a folder, its output kept in a file there."""
    log = folder / "output.txt"
    began = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, env=_environment()
        )
        looker = _Looker(process.pid)
        looker.start()
        killer = threading.Timer(most_seconds, process.kill)
        killer.daemon = True  # nobody waits for it who interrupts us
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    killer.cancel()
    looker.stop()
    return Cost(
        seconds,
        usage.ru_utime + usage.ru_stime,
        max(looker.peak_bytes, usage.ru_maxrss * 1024),
        process.returncode,
        log.read_text(errors="replace"),
    )


def _environment() -> dict[str, str]:
    """Ours, but Python may keep what it compiled, as it does for anybody who installed it."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class _Looker(threading.Thread):
    """Watches the memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._pid = pid
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            self.peak_bytes = max(self.peak_bytes, sum(map(_resident_bytes, _family(self._pid))))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def _family(pid: int) -> list[int]:
    family = [pid]
    for member in family:
        try:
            text = Path(f"/proc/{member}/task/{member}/children").read_text()
        except OSError:
            continue
        family.extend(int(child) for child in text.split())
    return family


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
